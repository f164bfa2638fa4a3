import { readdirSync, readlinkSync } from 'node:fs';
import { until } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { startEcho } from './planes.js';

/** Only workers have timers of this kind. */
function timers(): number {
  const targets = readdirSync('/proc/self/fd').map((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`);
    } catch {
      return ''; // that of the folder
    }
  });
  return targets.filter((target) => target.includes('timerfd')).length;
}

it.each(['close', 'terminate'] as const)('a worker leaves no timer behind: %s', async (ending) => {
  // Those of earlier tests in this process end soon.
  await until(() => timers() === 0);
  const { plane } = await startEcho();
  expect(timers()).toBeGreaterThan(0);
  await plane[ending]();
  await plane.closed;
  expect(timers()).toBe(0);
});
