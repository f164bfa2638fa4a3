import { createSchedule } from '@rdmc/schedule';
import { blocksOf, type SimulatedGroup, scheduleOf, transfersOf } from './group.js';
import { refuseLarger } from './memory-limit.js';

/**
 * Bytes. Chosen so that the estimate is at least the growth of the process's peak memory in each run of the README's table,
 * and in runs with a trace, with many blocks, and with racks. `PER_RACK_ENTRY` is a guess.
 */
const FIXED = 72 * 2 ** 20;
const PER_MEMBER = 60_000;
const PER_NEIGHBOUR = 1_500;
const PER_BLOCK_OF_A_MEMBER = 14;
const PER_RACK_ENTRY = 40;
const PER_TRACE_RECORD = 1_000;
const PER_RECORDED_TRANSFER = 2_500;

/** What a run keeps of its transfers. */
export interface Kept {
  readonly traces: boolean;
  readonly records: boolean;
}

/** Bytes that a run needs, as an estimate that is rather too large. */
export function estimateMemory(groups: readonly SimulatedGroup[], kept: Kept): number {
  return groups.reduce((sum, group) => sum + memoryOf(group, kept), FIXED);
}

function memoryOf(group: SimulatedGroup, { traces, records: live }: Kept): number {
  const { members, racks } = group;
  const nodes = members.length;
  const perMember = PER_MEMBER + blocksOf(group) * PER_BLOCK_OF_A_MEMBER;
  const rackEntries = racks === undefined ? 0 : nodes * nodes;
  const records = traces ? 2 * transfersOf(group) : 0;
  return (
    nodes * perMember +
    neighboursOf(group) * PER_NEIGHBOUR +
    rackEntries * PER_RACK_ENTRY +
    records * PER_TRACE_RECORD +
    (live ? transfersOf(group) * PER_RECORDED_TRANSFER : 0)
  );
}

/** Neighbours of all members together. Members with the most neighbours have low ranks. */
function neighboursOf(group: SimulatedGroup): number {
  const nodes = group.members.length;
  if (group.algorithm === 'sequential') return 2 * nodes;
  const schedule = createSchedule({ ...scheduleOf(group), blocks: 1 });
  const { sendsTo, receivesFrom } = schedule.neighbours(1);
  return nodes * (sendsTo.length + receivesFrom.length);
}

/** Returns the estimate. @throws SimulatorError ERR_RDMC_SIMULATION_TOO_LARGE */
export function checkMemory(
  groups: readonly SimulatedGroup[],
  kept: Kept,
  memoryLimitBytes: number | undefined,
): number {
  const needed = estimateMemory(groups, kept);
  refuseLarger(needed, memoryLimitBytes);
  return needed;
}
