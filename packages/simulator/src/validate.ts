import { SimulatorError } from './errors.js';
import { bucketChainCheck, idleLinkCheck, sharedBucketCheck } from './validation/bucket.js';
import { type Check, describe, holds } from './validation/check.js';
import { delayCheck, slackCheck, transfersOfSchedule } from './validation/delay.js';
import { rackChecks as hybridChecks, rackList } from './validation/racks.js';
import { balanceChecks, diskChecks, replayChecks } from './validation/recovery.js';
import { repeatCheck } from './validation/repeat.js';
import { parkingLotChecks, rackChecks, sinkChecks } from './validation/sharing.js';
import { slowLinkShareCheck, slowLinkTimeCheck } from './validation/slow-link.js';
import { countedAlgorithms, stepsCheck } from './validation/steps.js';

/** One property of the simulator, and how many known results showed it. */
export interface ValidationCase {
  /** The property, as a sentence for people. */
  readonly property: string;
  /** Number of known results that were reproduced. */
  readonly checks: number;
}

const SIZES = [2, 3, 5, 8, 13, 16];
const BUCKETS = [0, 0.25, 1, 2.5];
const SLOW = { nodes: 16, blocks: 61, a: 5, b: 7, ratio: 0.5 };

const PROPERTIES: readonly [property: string, checks: () => Check[]][] = [
  [
    'without overhead a multicast takes the steps of its schedule',
    () => countedAlgorithms.flatMap((algorithm) => SIZES.map((n) => stepsCheck(algorithm, n, 1 + (n % 7)))),
  ],
  ['links are shared max-min fairly', () => [...sinkChecks(7), ...parkingLotChecks(4), ...rackChecks(3)]],
  [
    'an idle link lets its bucket through at once, a busy one nothing',
    () => [
      ...BUCKETS.flatMap((bucket) => [2, 5].map((n) => bucketChainCheck(n, 7, { bucket }))),
      ...BUCKETS.map((idle) => idleLinkCheck(0.5, idle)),
      ...BUCKETS.map((bucket) => sharedBucketCheck(3, 2, bucket)),
    ],
  ],
  [
    'a slow link costs what the schedule says',
    () => [
      slowLinkTimeCheck('binomial-pipeline', SLOW),
      slowLinkShareCheck('single', SLOW),
      slowLinkShareCheck('shipped', SLOW),
    ],
  ],
  [
    'one delay costs at most itself; slack is as in section 4.5',
    () => [
      ...transfersOfSchedule('binomial-pipeline', 8, 4).map((transfer) =>
        delayCheck('binomial-pipeline', { nodes: 8, blocks: 4, lasts: 0.7 }, transfer),
      ),
      ...[4, 8, 16].map(slackCheck),
    ],
  ],
  [
    'racks are crossed as the schedule says',
    () => hybridChecks('hybrid', { racks: rackList(4, 4), blocks: 9 }),
  ],
  [
    'a recovery takes the time of its slowest resource, shared out evenly',
    () => [...replayChecks(4), ...diskChecks(4), ...balanceChecks([2, 4, 8])],
  ],
  ['every block arrives once, and a seed gives one trace', () => [repeatCheck(1)]],
];

/**
 * Compares the simulator with known results, in well below a second. Call it before a figure is printed.
 *
 * @throws SimulatorError ERR_RDMC_VALIDATION_FAILED, with the result that differs
 */
export function validate(): ValidationCase[] {
  return PROPERTIES.map(([property, checks]) => {
    const all = checks();
    const failed = all.find((check) => !holds(check));
    if (failed === undefined) return { property, checks: all.length };
    throw new SimulatorError('ERR_RDMC_VALIDATION_FAILED', describe(failed));
  });
}
