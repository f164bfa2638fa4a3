import { drawGroup } from './group/group-plan.js';
import { GroupRun } from './group/group-run.js';
import type { GroupScenario } from './group/group-scenarios.js';
import { drawKv, type KvScenario } from './kv/kv-plan.js';
import { KvRun } from './kv/kv-run.js';
import { KvUpgrade } from './kv/kv-upgrade.js';
import type { Subject } from './run/judge.js';
import { draw, type Scenario } from './run/plan.js';
import { Run } from './run/run.js';
import { DEEDS } from './run/scenarios.js';

/** A small store over one log, written for these tests. */
export function storeOverLog(seed: number, among: readonly Scenario[]): Promise<Subject> {
  const drawn = draw(seed, among);
  return Run.create(drawn, DEEDS[drawn.plan.scenario]);
}

/** A cluster of `kv server`. */
export function kvCluster(seed: number, among: readonly KvScenario[]): Subject {
  const drawn = drawKv(seed, among);
  return drawn.plan.scenario === 'kv-upgrade' ? new KvUpgrade(drawn) : new KvRun(drawn);
}

/** A group with stable delivery. */
export function groupOfProcesses(seed: number, among: readonly GroupScenario[]): Subject {
  return new GroupRun(drawGroup(seed, among));
}
