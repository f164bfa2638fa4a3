import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('fixtures/terminated-inside.mjs', import.meta.url));

it.each([
  'completionQueueFunctions',
  'submissionDoorbell',
  'queuePairConnect',
  'eventfdSignal',
  'timerfdStart',
])('a worker may be terminated while it runs %s of the addon', (name) => {
  const run = spawnSync(process.execPath, [FIXTURE, name], { encoding: 'utf8' });
  expect({ status: run.status ?? run.signal, said: run.stdout }, run.stderr).toEqual({
    status: 0,
    said: 'the worker has ended\n',
  });
});
