import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { linkProgram } from './native/variant.mjs';

/** Time limit; the program itself waits 300 s for a missing event. */
const LIMIT_MS = 400_000;

const program = await linkProgram('soft-faults', 'soft-faults', { beside: ['soft-driver'] });
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

it.skipIf(lacking).each([
  ['does not change any byte after a target has revoked permission, however late', 'state-after-busy'],
  ['does not report success of a copy that was not placed', 'copies-land'],
  ['ends requests to a region that is moved without end', 'retries-end'],
  ['gives each of the waits of a request its own time', 'each-wait'],
  ['survives native threads that run out of memory, and reports it', 'threads-throw'],
  ['listens again after the kernel refused to watch its listener', 'listener'],
  ['fails barriers without new memory, and recovers', 'no-fresh-memory'],
  ['continues with a region that was moved partly', 'half-moved'],
  ['is woken by peers without trusting them', 'bells'],
  ['disconnects a peer that reads nothing', 'outbox'],
  ['keeps buffers of connections without allocating', 'input-buffers'],
  ['makes a queue pair completely or not at all', 'queue-pair-without-memory'],
  ['does not place messages in memory that was not posted', 'redirected-receive'],
])(`the soft device %s ${lacking}`, { timeout: LIMIT_MS }, (_, name) => {
  const run = spawnSync(program as string, [name], { encoding: 'utf8' });
  expect(run.status ?? run.signal, run.stderr).toBe(0);
});
