import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('fixtures/descriptor-worker-ends.mjs', import.meta.url));
const NUMBER_AGAIN = fileURLToPath(new URL('fixtures/descriptor-number-again.mjs', import.meta.url));

it.each(['exit', 'terminate', 'error'])('a worker leaves no timer or eventfd behind: %s', async (ending) => {
  const { stdout } = await promisify(execFile)(process.execPath, [FIXTURE, ending]);
  const { before, after, reusedStays } = JSON.parse(stdout);
  expect(after).toEqual(before);
  // The number of a descriptor that the worker has closed may be another file's by then.
  expect(reusedStays).toBe(true);
});

it('a descriptor may have the number of one that was closed by somebody else', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [NUMBER_AGAIN]);
  expect(JSON.parse(stdout)).toBe(true);
});
