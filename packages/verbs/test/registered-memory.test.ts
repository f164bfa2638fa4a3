import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('fixtures/registered-memory.mjs', import.meta.url));

/** Runs a scenario of the fixture; a process that is ended by a signal fails. */
async function result(scenario: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', FIXTURE, scenario]);
  return JSON.parse(stdout);
}

it('registered memory is not freed under a copy while the device is closed', async () => {
  expect(await result('a copy goes on while the device is closed')).toBe('ended');
});

it('registered memory is let go when the slot of a region that another thread has closed is used again', async () => {
  expect(await result('another thread closes the region')).toBe(false);
});

it('registered memory is kept by its region, and not by that of a device that another thread has closed', async () => {
  expect(await result('another thread closes the device')).toEqual([true, false]);
});
