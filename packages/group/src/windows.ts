import type { Algorithm } from '@rdmc/schedule';
import { DEFAULT_SEND_WINDOW, MAX_WINDOW } from './constants.js';

/** How far a member works ahead of its neighbours. */
export interface WorkAhead {
  /** Sends that have not completed. */
  readonly sendWindow: number;
  /** Receives that are announced and not filled. */
  readonly readyWindow: number;
}

const FAR: WorkAhead = { sendWindow: DEFAULT_SEND_WINDOW, readyWindow: MAX_WINDOW };
/** One block at a time comes to a member, and one leaves it, as in the implementation of the RDMC paper. */
const IN_STEP: WorkAhead = { sendWindow: 1, readyWindow: 1 };

/** The least number of members with which working ahead makes a schedule slower. */
const LEAST_IN_STEP = 5;

/**
 * The windows of a group of `nodes` members whose blocks use `transports`.
 *
 * Where several members send to one by turns, and may work ahead, they get out of step: two blocks share the port of one member
 * while the port of another is idle. If the network does not have queues for whole blocks, the multicast then takes longer: up to
 * 1.6 times as long in measurements, twice in the simulator (docs/results/multicast-windows.md). That happens in the binomial
 * pipeline if the number of members is not a power of two: a member with a twin gets its blocks from more members than the
 * others. The simulator predicts it for the hybrid schedule, too.
 * Working ahead saves the time between two blocks of a member, and wake-ups. So all other schedules do it, and so does
 * shared memory, where no port is shared: the sender's processor copies.
 */
export function automaticWindows(
  algorithm: Algorithm,
  nodes: number,
  transports: readonly string[],
): WorkAhead {
  if (nodes < LEAST_IN_STEP || transports.every((name) => name === 'shm')) return FAR;
  if (algorithm === 'hybrid') return IN_STEP;
  return algorithm === 'binomial-pipeline' && !isPowerOfTwo(nodes) ? IN_STEP : FAR;
}

function isPowerOfTwo(n: number): boolean {
  return Number.isInteger(Math.log2(n));
}
