/** Members are only killed. The others learn of that by their connections, and silence means nothing on a busy machine. */
const ONLY_KILLS = [
  'group-calm',
  'group-member',
  'group-root',
  'group-members',
  'group-agreement',
  'group-torn',
  'group-minority',
] as const;

/** Members are in network namespaces, whose links are cut. */
const CUTS = ['group-cut', 'group-partition', 'group-one-way', 'group-path'] as const;

/** Faults of a group with stable delivery under load. */
export const GROUP_SCENARIOS = [...ONLY_KILLS, 'group-stopped', ...CUTS] as const;
export type GroupScenario = (typeof GROUP_SCENARIOS)[number];

/** Network namespaces are made by root. */
export const GROUP_NEEDS_ROOT: readonly GroupScenario[] = CUTS;

export function needsLab(scenario: GroupScenario): boolean {
  return GROUP_NEEDS_ROOT.includes(scenario);
}

/** Nobody may suspect a member that lives. */
export function isCertain(scenario: GroupScenario): boolean {
  return (ONLY_KILLS as readonly GroupScenario[]).includes(scenario);
}
