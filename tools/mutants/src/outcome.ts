import type { Trial } from './trial.js';

/**
 * The result of a mutant. `timed out`: no test failed within its time limit; `found` tells whether the fault or the machine
 * is the reason.
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

/** Factor of the time limit of the second trial. */
const LARGER = 3;

/**
 * A failed test kills the mutant. A time-out is not a proof, because a machine may be slow: the fault is
 * found only if the same tests now pass without it within the limit, and exceed a larger limit with it.
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
  // A test with its own limit may have ended as early as the first time.
  const found = second.seconds * 1000 > limitMs;
  const how = found ? 'its tests hang, also with a larger limit' : 'a test has a limit of its own';
  return { outcome: 'timed out', found, how, seconds: second.seconds };
}

function ended({ passed, seconds }: Trial): Outcome {
  return passed
    ? { outcome: 'survived', found: false, how: 'no test failed', seconds }
    : { outcome: 'killed', found: true, how: 'a test failed', seconds };
}
