/*
 * Checks a schedule against the rules. It does not share code with the generator: it walks `transfers()` and records
 * the blocks that each member holds.
 */
import type { Schedule, Transfer } from '../src/index.js';

export interface Verdict {
  readonly faults: string[];
  /** Transfers seen. */
  readonly count: number;
  /** Step of the last transfer. */
  readonly lastStep: number;
  /** The sender of each member's first block; −1 for the root. */
  readonly firstFrom: Int32Array;
}

const MAX_FAULTS = 5;

/** Checks the port model, causality, completeness, order and the number of steps. */
export function judge(schedule: Schedule): Verdict {
  const { nodes, blocks, steps } = schedule;
  const heldSince = new Float64Array(nodes * blocks).fill(Infinity).fill(-1, 0, blocks);
  const sentIn = new Float64Array(nodes).fill(-1);
  const receivedIn = new Float64Array(nodes).fill(-1);
  const firstFrom = new Int32Array(nodes).fill(-1);
  const faults: string[] = [];
  let [count, lastStep, lastFrom] = [0, -1, -1];
  const fault = (t: Transfer, what: string) => {
    if (faults.length < MAX_FAULTS)
      faults.push(`step ${t.step}, ${t.from} -> ${t.to}, block ${t.block}: ${what}`);
  };
  for (const t of schedule.transfers()) {
    count += 1;
    if (t.step < lastStep || t.step >= steps) fault(t, 'step out of order or range');
    if (t.step === lastStep && t.from <= lastFrom) fault(t, 'senders of a step not ascending');
    if (!inRange(t.from, nodes) || !inRange(t.to, nodes) || t.from === t.to) fault(t, 'no such pair');
    if (!inRange(t.block, blocks)) fault(t, 'no such block');
    if (sentIn[t.from] === t.step) fault(t, 'two sends in one step');
    if (receivedIn[t.to] === t.step) fault(t, 'two receives in one step');
    if (!(heldSince[t.from * blocks + t.block]! < t.step)) fault(t, 'sender did not have it before');
    if (heldSince[t.to * blocks + t.block] !== Infinity) fault(t, 'target had it already');
    if (firstFrom[t.to] === -1) firstFrom[t.to] = t.from;
    sentIn[t.from] = t.step;
    receivedIn[t.to] = t.step;
    heldSince[t.to * blocks + t.block] = t.step;
    lastStep = t.step;
    lastFrom = t.from;
  }
  if (count !== (nodes - 1) * blocks) faults.push(`${count} transfers instead of ${(nodes - 1) * blocks}`);
  if (lastStep !== steps - 1) faults.push(`last transfer in step ${lastStep} of ${steps}`);
  return { faults, count, lastStep, firstFrom };
}

/** Checks that `rank(r)` of every member is exactly its part of `transfers()`, and agrees with `neighbours(r)`. */
export function judgeParts(schedule: Schedule): string[] {
  const sends: Transfer[][] = Array.from({ length: schedule.nodes }, () => []);
  const receives: Transfer[][] = Array.from({ length: schedule.nodes }, () => []);
  for (const t of schedule.transfers()) {
    sends[t.from]!.push(t);
    receives[t.to]!.push(t);
  }
  const faults: string[] = [];
  for (let rank = 0; rank < schedule.nodes; rank += 1) {
    const part = schedule.rank(rank);
    if (!same(part.sends, sends[rank]!)) faults.push(`rank ${rank}: sends differ`);
    if (!same(part.receives, receives[rank]!)) faults.push(`rank ${rank}: receives differ`);
    faults.push(...judgeNeighbours(schedule, rank, sends[rank]!, receives[rank]!));
    if (faults.length > MAX_FAULTS) break;
  }
  return faults;
}

function judgeNeighbours(
  schedule: Schedule,
  rank: number,
  sends: Transfer[],
  receives: Transfer[],
): string[] {
  const { sendsTo, receivesFrom, firstFrom } = schedule.neighbours(rank);
  const faults: string[] = [];
  const [targets, sources] = [new Set(sendsTo), new Set(receivesFrom)];
  if (sends.some((t) => !targets.has(t.to)))
    faults.push(`rank ${rank}: sends to a rank that is not its neighbour`);
  if (receives.some((t) => !sources.has(t.from)))
    faults.push(`rank ${rank}: receives from a rank that is not its neighbour`);
  if (receives[0]?.from !== firstFrom) faults.push(`rank ${rank}: first block not from ${firstFrom}`);
  for (const list of [sendsTo, receivesFrom]) {
    if (list.some((r, i) => i > 0 && r <= list[i - 1]!))
      faults.push(`rank ${rank}: neighbours not ascending`);
  }
  return faults;
}

/** The ranks with which every member exchanges blocks in this schedule, ascending. */
export function partners(schedule: Schedule): { sendsTo: number[][]; receivesFrom: number[][] } {
  const to: Set<number>[] = Array.from({ length: schedule.nodes }, () => new Set());
  const from: Set<number>[] = Array.from({ length: schedule.nodes }, () => new Set());
  for (const t of schedule.transfers()) {
    to[t.from]!.add(t.to);
    from[t.to]!.add(t.from);
  }
  const sorted = (sets: Set<number>[]) => sets.map((set) => [...set].sort((a, b) => a - b));
  return { sendsTo: sorted(to), receivesFrom: sorted(from) };
}

function inRange(value: number, end: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < end;
}

function same(a: Transfer[], b: Transfer[]): boolean {
  return (
    a.length === b.length &&
    a.every((t, i) => {
      const u = b[i]!;
      return t.step === u.step && t.from === u.from && t.to === u.to && t.block === u.block;
    })
  );
}
