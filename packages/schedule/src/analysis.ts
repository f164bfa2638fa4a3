import { isWholeNumber } from '@rdmc/common/checks';
import { ceilLog2 } from './bits.js';
import { ScheduleError, shown } from './errors.js';
import type { RackId } from './racks.js';
import { checkRacks } from './racks.js';
import type { Schedule } from './schedule.js';

/**
 * The average slack of one step (RDMC, DSN 2018, section 4.5): over the members other than the root that
 * send in `step`, how many steps ago the sender received the block. `undefined` if only the root sends.
 * Computed by walking back through the schedule to the arrival of each block.
 *
 * @throws ScheduleError ERR_RDMC_INVALID_STEP
 */
export function averageSlack(schedule: Schedule, step: number): number | undefined {
  const wanted = new Map<number, number>();
  for (const { from, block } of schedule.at(step)) if (from !== 0) wanted.set(from, block);
  const senders = wanted.size;
  if (senders === 0) return undefined;
  let slack = 0;
  for (let before = step - 1; before >= 0 && wanted.size > 0; before -= 1) {
    for (const { to, block } of schedule.at(before)) {
      if (wanted.get(to) !== block) continue;
      wanted.delete(to);
      slack += step - before;
    }
  }
  return slack / senders;
}

/** 2(1 − (l − 1)/(n − 2)): the slack of a steady step of the pipeline for n = 2^l ≥ 4 (section 4.5). */
export function expectedSlack(nodes: number): number {
  return 2 * (1 - (ceilLog2(nodes) - 1) / (nodes - 2));
}

/** How long a block takes from one member to another; any unit. */
export type TransferCost = (from: number, to: number) => number;

/**
 * The time at which the last block arrives if members do not wait for steps: each sends its blocks one after the other
 * in step order, and a block starts as soon as the sender holds it, the sender's previous send has ended and the
 * target's previous receive has ended. By default a block costs 1 on every link. Uses memory for one number per
 * block of each member.
 */
export function completionTime(schedule: Schedule, cost: TransferCost = () => 1): number {
  const { nodes, blocks } = schedule;
  const holds = new Float64Array(nodes * blocks);
  const sendPort = new Float64Array(nodes);
  const receivePort = new Float64Array(nodes);
  let last = 0;
  for (const { from, to, block } of schedule.transfers()) {
    const start = Math.max(holds[from * blocks + block]!, sendPort[from]!, receivePort[to]!);
    const end = start + cost(from, to);
    sendPort[from] = end;
    receivePort[to] = end;
    holds[to * blocks + block] = end;
    last = Math.max(last, end);
  }
  return last;
}

/** One link, both ways, that is slower than all others. */
export interface SlowLink {
  /** Rank at one end of the link. */
  readonly a: number;
  /** Rank at the other end. */
  readonly b: number;
  /** T′/T, more than 0 and at most 1. */
  readonly ratio: number;
}

/**
 * The share of its bandwidth that the schedule keeps when one link is slow, computed with {@link completionTime}.
 *
 * @throws ScheduleError ERR_RDMC_INVALID_RANK, ERR_RDMC_INVALID_RATIO
 */
export function slowLinkFactor(schedule: Schedule, { a, b, ratio }: SlowLink): number {
  for (const rank of [a, b]) {
    if (isWholeNumber(rank, 0, schedule.nodes - 1)) continue;
    const message = `a slow link's end is ${shown(rank)}: the ranks of this schedule are 0 to ${schedule.nodes - 1}`;
    throw new ScheduleError('ERR_RDMC_INVALID_RANK', message);
  }
  checkRatio(ratio);
  const slow: TransferCost = (from, to) =>
    (from === a && to === b) || (from === b && to === a) ? 1 / ratio : 1;
  return completionTime(schedule) / completionTime(schedule, slow);
}

/**
 * lT′/(T + (l − 1)T′): the least share that the pipeline keeps for n = 2^l with a slow link of T′ (section 4.5).
 * For T′ = T/2 and n = 64 this is 6/7, 85.7%.
 * It counts whole turns of l steps: it holds if k + l − 1 is a multiple of l, and in the limit for any long message.
 *
 * @throws ScheduleError ERR_RDMC_INVALID_RATIO
 */
export function slowLinkBound(nodes: number, ratio: number): number {
  checkRatio(ratio);
  const l = ceilLog2(nodes);
  return (l * ratio) / (1 + (l - 1) * ratio);
}

/** Blocks that cross a rack's uplink during one message. */
export interface RackTraffic {
  /** The rack's name, as given. */
  readonly rack: RackId;
  /** Blocks that members of other racks send to members of this one. */
  readonly entering: number;
  /** Blocks that members of this rack send to members of other ones. */
  readonly leaving: number;
}

/**
 * The blocks that each rack's uplink carries, in the order in which racks first appear. Walks the whole schedule, of
 * any algorithm; `racks` defaults to the schedule's own.
 *
 * @throws ScheduleError ERR_RDMC_INVALID_RACKS
 */
export function rackTraffic(
  schedule: Schedule,
  racks: readonly RackId[] | undefined = schedule.racks,
): RackTraffic[] {
  checkRacks(racks, schedule.nodes);
  const found = new Map(racks.map((rack) => [rack, { rack, entering: 0, leaving: 0 }]));
  for (const { from, to } of schedule.transfers()) {
    const [source, target] = [racks[from]!, racks[to]!];
    if (source === target) continue;
    found.get(source)!.leaving += 1;
    found.get(target)!.entering += 1;
  }
  return [...found.values()];
}

function checkRatio(ratio: number): void {
  if (typeof ratio === 'number' && ratio > 0 && ratio <= 1) return;
  const message = `ratio is ${shown(ratio)}: give the slow link's bandwidth over that of the others, in (0, 1]`;
  throw new ScheduleError('ERR_RDMC_INVALID_RATIO', message);
}
