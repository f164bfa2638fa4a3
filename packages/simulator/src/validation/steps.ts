import type { Algorithm } from '@rdmc/schedule';
import type { Check } from './check.js';
import { runIdeal } from './ideal.js';

/** The number of steps by the formulas of the schedules; n members, k blocks. */
const FORMULAS = {
  sequential: (n, k) => k * (n - 1),
  chain: (n, k) => k + n - 2,
  'binomial-tree': (n, k) => k * Math.ceil(Math.log2(n)),
  'binomial-pipeline': (n, k) => k + Math.ceil(Math.log2(n)) - 1,
} as const satisfies Partial<Record<Algorithm, (n: number, k: number) => number>>;

export type CountedAlgorithm = keyof typeof FORMULAS;
export const countedAlgorithms = Object.keys(FORMULAS) as CountedAlgorithm[];

/** If nothing but bytes takes time and windows are 1/1, a multicast takes as long as its schedule has steps. */
export function stepsCheck(algorithm: CountedAlgorithm, nodes: number, blocks: number): Check {
  return {
    what: `steps of ${algorithm}, ${nodes} members, ${blocks} blocks`,
    expected: FORMULAS[algorithm](nodes, blocks),
    found: runIdeal({ nodes, blocks, algorithm }).microseconds,
    relation: 'equal',
  };
}
