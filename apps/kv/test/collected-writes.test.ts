/** Writes of several turns in one append, while the server collects. */
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { MAX_BATCH_BYTES } from '../src/limits.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';

let log: ManualLog;
let isCollecting: boolean;
let runner: CommandRunner;

beforeEach(() => {
  log = new ManualLog();
  isCollecting = true;
  runner = new CommandRunner(log, undefined, () => isCollecting);
});

it('the writes of turns in which the server collects are one append, and their replies wait for it', async () => {
  runner.turn(['SET', 'a', '1']);
  runner.turn(['GET', 'a'], ['SET', 'b', '2']);
  runner.turn(['GET', 'other']);
  expect([log.appends.length, runner.replies()]).toEqual([0, '']);
  isCollecting = false;
  runner.executor.end();
  expect([log.appends.map((entries) => entries.length), runner.replies()]).toEqual([[2], '']);
  log.acknowledge();
  await turn();
  expect(runner.replies()).toBe('+OK\r\n$1\r\n1\r\n+OK\r\n$-1\r\n');
});

it('a large append does not wait for later turns', () => {
  runner.turn(['SET', 'a', 'v'.repeat(MAX_BATCH_BYTES)]);
  expect(log.appends.length).toBe(1);
});
