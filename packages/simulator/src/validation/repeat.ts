import type { SimulateOptions } from '../options.js';
import { simulate } from '../simulate.js';
import type { Check } from './check.js';

/** A run with random preemptions on real costs. `simulate` itself checks that every block arrives and queues are empty. */
const OPTIONS: SimulateOptions = {
  cluster: 'fractus',
  nodes: 11,
  byteLength: 2 ** 20,
  blockBytes: 2 ** 15,
  messages: 2,
  preemptionRate: { perSecond: 2000, lasts: 100 },
  trace: true,
};

/** The same seed gives the same trace. */
export function repeatCheck(seed: number): Check {
  const first = JSON.stringify(simulate({ ...OPTIONS, seed }).trace);
  const second = JSON.stringify(simulate({ ...OPTIONS, seed }).trace);
  return {
    what: `a second run with seed ${seed}`,
    expected: 1,
    found: first === second ? 1 : 0,
    relation: 'equal',
  };
}
