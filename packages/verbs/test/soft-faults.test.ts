import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { linkProgram } from './native/variant.mjs';

/** For what hangs: the program itself waits 300 s for what does not come. */
const LIMIT_MS = 400_000;

const program = await linkProgram('soft-faults', 'soft-faults', { beside: ['soft-driver'] });
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

it.skipIf(lacking).each([
  ['changes no byte once a target has taken permission away, however late', 'state-after-busy'],
  ['reports no success of a copy that did not land', 'copies-land'],
  ['ends requests to a region that is being moved for ever', 'retries-end'],
  ['survives native threads that run out of memory, and says so', 'threads-throw'],
  ['listens again after the kernel refused to watch its listener', 'listener'],
  ['fails barriers where there is no fresh memory, and recovers', 'no-fresh-memory'],
  ['goes on with a region that was moved half-way', 'half-moved'],
  ['is rung by peers without trusting them', 'bells'],
  ['gives up a peer that reads nothing', 'outbox'],
])(`the soft device %s ${lacking}`, { timeout: LIMIT_MS }, (_, name) => {
  const run = spawnSync(program as string, [name], { encoding: 'utf8' });
  expect(run.status ?? run.signal, run.stderr).toBe(0);
});
