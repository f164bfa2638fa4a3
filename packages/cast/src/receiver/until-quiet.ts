import { Deferred, SilenceTimer } from '@rdmc/common';
import { HEARTBEAT_MS } from '../constants.js';

/**
 * Resolves when `done` is settled, or when `activity` has not changed for `limitMs`: then the work hangs. Slow work
 * that still changes it does not hang.
 */
export async function untilQuiet(
  done: Promise<unknown>,
  activity: () => number,
  limitMs: number,
): Promise<void> {
  const quiet = new Deferred<void>();
  const watch = new SilenceTimer(HEARTBEAT_MS, limitMs, () => quiet.resolve());
  let seen = activity();
  const timer = setInterval(() => {
    const now = activity();
    if (now !== seen) watch.heard();
    seen = now;
  }, HEARTBEAT_MS);
  try {
    await Promise.race([done, quiet.promise]);
  } finally {
    clearInterval(timer);
    watch.stop();
  }
}
