import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { ComplianceError } from './errors.js';

/**
 * Longest wait for an expected event, in milliseconds: long, because machines that run tests are busy.
 * RDMC_TEST_LIMIT_MS replaces it, for emulated machines.
 */
export const LIMIT_MS = Number(process.env.RDMC_TEST_LIMIT_MS ?? 45_000);
/** Longest time of a test with many repetitions, in milliseconds. */
export const LONG_MS = 4 * LIMIT_MS;
/** Turns of the event loop before a waiting test sleeps for a millisecond at a time. */
const EAGER_TURNS = 100;

/** Calls `condition` until it returns something other than undefined. @throws ERR_RDMC_COMPLIANCE_TIMEOUT */
export async function waitFor<T>(
  what: () => string,
  condition: () => T | undefined | Promise<T | undefined>,
  limitMs = LIMIT_MS,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (let turn = 0; ; turn += 1) {
    const value = await condition();
    if (value !== undefined) return value;
    if (performance.now() > end) {
      throw new ComplianceError('ERR_RDMC_COMPLIANCE_TIMEOUT', `Not within ${limitMs} ms: ${what()}`);
    }
    await (turn < EAGER_TURNS ? nextTurn() : delay(1));
  }
}
