import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';

/** Turns of the event loop in which a wait checks eagerly. A longer wait must not take a processor from what it waits for. */
const EAGER_TURNS = 200;
const PAUSE_MS = 1;

/**
 * Waits for a condition without an event: checks it at every turn of the event loop and, after some turns, with a pause
 * between checks; with `pauseMs` always with that pause. The test's limit of time ends it.
 */
export async function until(condition: () => boolean | Promise<boolean>, pauseMs?: number): Promise<void> {
  for (let turns = 0; !(await condition()); turns += 1) {
    const isEager = pauseMs === undefined && turns < EAGER_TURNS;
    await (isEager ? turn() : delay(pauseMs ?? PAUSE_MS));
  }
}
