import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';

/**
 * Waits for a condition without an event: checks it at every turn of the event loop, or with a pause between checks.
 * The test's limit of time ends it.
 */
export async function until(condition: () => boolean | Promise<boolean>, pauseMs?: number): Promise<void> {
  while (!(await condition())) await (pauseMs === undefined ? turn() : delay(pauseMs));
}
