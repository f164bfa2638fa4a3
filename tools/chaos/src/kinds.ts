import { noEtcd } from '@rdmc/testing/etcd';
import { GROUP_NEEDS_ROOT, GROUP_SCENARIOS, type GroupScenario } from './group/group-scenarios.js';
import { KV_NEEDS_ROOT, KV_SCENARIOS, type KvScenario, NEEDS_ETCD } from './kv/kv-plan.js';
import type { Subject } from './run/judge.js';
import { NEEDS_ROOT, SCENARIOS, type Scenario } from './run/plan.js';
import { groupOfProcesses, kvCluster, storeOverLog } from './subjects.js';

/** A kind of system, by the option that chooses it. */
export interface Kind {
  readonly option: 'store' | 'kv' | 'group';
  readonly scenarios: readonly string[];
  /** Of these scenarios. */
  readonly needsRoot: readonly string[];
  readonly needsEtcd: readonly string[];
  /** The system of a seed, whose scenario is one of these. */
  create(seed: number, among: readonly string[]): Subject | Promise<Subject>;
}

export const KINDS: readonly Kind[] = [
  {
    option: 'store',
    scenarios: SCENARIOS,
    needsRoot: NEEDS_ROOT,
    needsEtcd: [],
    create: (seed, among) => storeOverLog(seed, among as readonly Scenario[]),
  },
  {
    option: 'kv',
    scenarios: KV_SCENARIOS,
    needsRoot: KV_NEEDS_ROOT,
    needsEtcd: NEEDS_ETCD,
    create: (seed, among) => kvCluster(seed, among as readonly KvScenario[]),
  },
  {
    option: 'group',
    scenarios: GROUP_SCENARIOS,
    needsRoot: GROUP_NEEDS_ROOT,
    needsEtcd: [],
    create: (seed, among) => groupOfProcesses(seed, among as readonly GroupScenario[]),
  },
];

/** A kind, and what creates its system of a seed. */
export interface Choice {
  readonly option: Kind['option'];
  create(seed: number): Subject | Promise<Subject>;
}

/** The kinds whose options were given, or all; a seed has one of them in turn. @throws where a scenario is unknown or none can run here */
export function chosen(
  options: Partial<Record<Kind['option'], boolean>>,
  scenarios: readonly string[] | undefined,
  impossible: ReadonlyMap<string, string>,
): readonly Choice[] {
  const asked = KINDS.filter(({ option }) => options[option]);
  const kinds = asked.length > 0 ? asked : KINDS;
  const known = kinds.flatMap((kind) => kind.scenarios);
  const unknown = scenarios?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`unknown scenario '${unknown}'; known are ${known.join(', ')}`);
  const names = (scenarios ?? known).filter((name) => !impossible.has(name));
  const choices = kinds.flatMap(({ option, create, ...kind }) => {
    const among = kind.scenarios.filter((name) => names.includes(name));
    return among.length > 0 ? [{ option, create: (seed: number) => create(seed, among) }] : [];
  });
  if (choices.length === 0) throw new Error('none of these scenarios can run here');
  return choices;
}

/** Scenarios that cannot run here, with the reason. */
export function impossibleHere(): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const { needsRoot, needsEtcd } of KINDS) {
    if (noEtcd) for (const name of needsEtcd) reasons.set(name, 'etcd (apt-get install etcd-server)');
    if (process.getuid?.() !== 0) for (const name of needsRoot) reasons.set(name, 'root');
  }
  return reasons;
}
