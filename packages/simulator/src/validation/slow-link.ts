import { type Algorithm, completionTime, createSchedule, slowLinkBound } from '@rdmc/schedule';
import type { WindowsName } from '../windows.js';
import type { Check } from './check.js';
import { runIdeal } from './ideal.js';

export interface SlowLinkCase {
  readonly nodes: number;
  readonly blocks: number;
  readonly a: number;
  readonly b: number;
  readonly ratio: number;
}

/** With windows 1/1 a slow link costs what the walk through the schedule says, for every algorithm. */
export function slowLinkTimeCheck(algorithm: Algorithm, { nodes, blocks, a, b, ratio }: SlowLinkCase): Check {
  const schedule = createSchedule({ algorithm, nodes, blocks });
  const isSlow = (from: number, to: number) => (from === a && to === b) || (from === b && to === a);
  return {
    what: `${algorithm} with a slow link of ${ratio} between ${a} and ${b}, ${nodes} members, ${blocks} blocks`,
    expected: completionTime(schedule, (from, to) => (isSlow(from, to) ? 1 / ratio : 1)),
    found: runIdeal({ nodes, blocks, algorithm, slowLinks: [{ a, b, ratio }] }).microseconds,
    relation: 'equal',
  };
}

/** The pipeline keeps at least lT′/(T + (l − 1)T′) of its bandwidth (RDMC, section 4.5), with any windows. */
export function slowLinkShareCheck(
  windows: WindowsName,
  { nodes, blocks, a, b, ratio }: SlowLinkCase,
): Check {
  const without = runIdeal({ nodes, blocks, windows }).microseconds;
  const slow = runIdeal({ nodes, blocks, windows, slowLinks: [{ a, b, ratio }] }).microseconds;
  return {
    what: `share kept with a link of ${ratio} between ${a} and ${b}, ${nodes} members, windows ${windows}`,
    expected: slowLinkBound(nodes, ratio),
    found: without / slow,
    relation: 'least',
  };
}
