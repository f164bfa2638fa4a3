import type { Trial } from './trial.js';

/**
 * What became of a mutant. `timed out`: no test failed before its limit of time; whether the fault or the machine is the
 * reason, `found` says.
 */
export interface Outcome {
  readonly outcome: 'killed' | 'timed out' | 'survived';
  /** Whether the tests found the fault. */
  readonly found: boolean;
  readonly how: string;
  /** Of the trial that decided. */
  readonly seconds: number;
}

/** The tests with the fault in place, and without it. */
export interface Trials {
  mutated(limitMs: number): Promise<Trial>;
  baseline(limitMs: number): Promise<Trial>;
}

/** How much more time a mutant has when it is tried again. */
const LARGER = 3;

/**
 * A failed test kills the mutant. Tests that run out of time are no proof, because a machine may be slow: the fault is
 * found only when the same tests pass without it within the limit, now, and run out of a larger limit with it.
 */
export async function outcomeOf(trials: Trials, limitMs: number): Promise<Outcome> {
  const first = await trials.mutated(limitMs);
  if (!first.timedOut) return ended(first);
  const baseline = await trials.baseline(limitMs);
  if (!baseline.passed) {
    const how = 'without the fault, too, its tests do not pass within the limit';
    return { outcome: 'timed out', found: false, how, seconds: first.seconds };
  }
  const second = await trials.mutated(limitMs * LARGER);
  if (!second.timedOut) return ended(second);
  // A test that has a limit of its own may have ended no later than the first time.
  const found = second.seconds * 1000 > limitMs;
  const how = found ? 'its tests hang, also with a larger limit' : 'a test has a limit of its own';
  return { outcome: 'timed out', found, how, seconds: second.seconds };
}

function ended({ passed, seconds }: Trial): Outcome {
  return passed
    ? { outcome: 'survived', found: false, how: 'no test failed', seconds }
    : { outcome: 'killed', found: true, how: 'a test failed', seconds };
}
