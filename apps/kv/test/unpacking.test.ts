/** Keys of a takeover that nobody asks for do not stay in its bytes. */
import { until } from '@rdmc/testing';
import { afterAll, expect, it, vi } from 'vitest';
import { Imports } from '../src/cluster/imports.js';
import { Keyspace } from '../src/store/keyspace.js';
import { Store } from '../src/store/store.js';
import { CommandRunner } from './support/command-runner.js';
import { contentOf, partOf, RecordedLog } from './support/recorded-log.js';

// Other files have loaded these modules, and will use them again, without the mock.
vi.hoisted(() => vi.resetModules());
afterAll(() => void vi.resetModules());
vi.mock('../src/limits.js', async (original) => ({
  ...(await original<typeof import('../src/limits.js')>()),
  UNPACK_DELAY_MS: 1,
  // One slot at a time.
  UNPACK_STEP_MS: 0,
}));

it('they are unpacked later, also where the attempt has ended: that of the server that leads it ends at once', async () => {
  const dead = new RecordedLog();
  const runner = new CommandRunner(dead);
  for (let number = 0; number < 5; number += 1) runner.run('SET', String(number), 'v');
  const store = new Store(new Keyspace(), new RecordedLog());
  const attempt = new AbortController();
  await new Imports(store).take(1, partOf(dead.entries), attempt.signal);
  attempt.abort();
  expect(store.keyspace.packed).toBe(5);
  await until(() => store.keyspace.packed === 0);
  expect(contentOf(store).size).toBe(5);
});
