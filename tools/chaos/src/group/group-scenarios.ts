/** Faults of a group with stable delivery under load. */
export const GROUP_SCENARIOS = [
  'group-calm',
  'group-member',
  'group-root',
  'group-members',
  'group-agreement',
  'group-torn',
  'group-minority',
  'group-stopped',
  'group-cut',
  'group-partition',
  'group-one-way',
  'group-path',
] as const;
export type GroupScenario = (typeof GROUP_SCENARIOS)[number];

/** Members are in network namespaces, whose links are cut. */
export const GROUP_NEEDS_ROOT: readonly GroupScenario[] = [
  'group-cut',
  'group-partition',
  'group-one-way',
  'group-path',
];

/** Members are only killed. The others learn of that by their connections, and silence means nothing on a busy machine. */
const ONLY_KILLS: readonly GroupScenario[] = [
  'group-calm',
  'group-member',
  'group-root',
  'group-members',
  'group-agreement',
  'group-torn',
  'group-minority',
];

export function needsLab(scenario: GroupScenario): boolean {
  return GROUP_NEEDS_ROOT.includes(scenario);
}

/** Nobody may suspect a member that lives. */
export function isCertain(scenario: GroupScenario): boolean {
  return ONLY_KILLS.includes(scenario);
}
