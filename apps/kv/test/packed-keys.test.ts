/** Keys of a takeover stay in its bytes until one of their slot is asked for, and nobody sees a difference. */
import { Deferred } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Imports } from '../src/cluster/imports.js';
import { MAX_INDEXED_BYTES, MAX_PACKED_KEYS } from '../src/limits.js';
import type { CommitTicket } from '../src/log/commit-log.js';
import { StoreCleaner } from '../src/log/store-cleaner.js';
import { Keyspace } from '../src/store/keyspace.js';
import { Store } from '../src/store/store.js';
import { CommandRunner } from './support/command-runner.js';
import { HashModel, modelCommand } from './support/hash-model.js';
import { ManualLog } from './support/manual-server.js';
import { contentOf, partOf, RecordedLog, recover, slotOfKey } from './support/recorded-log.js';
import { ShortLog } from './support/short-log.js';

const NEVER = new AbortController().signal;

/** The log of a server that has set these keys, which is dead. */
function deadLog(keys: readonly string[]): RecordedLog {
  const log = new RecordedLog();
  const runner = new CommandRunner(log);
  for (const key of keys) runner.run('SET', key, `value of ${key}`);
  return log;
}

async function takeOver(store: Store, dead: RecordedLog): Promise<void> {
  await new Imports(store).take(1, partOf(dead.entries), NEVER);
}

/** Acknowledges when it is told to, and says only then which place the first append has: it had to wait for one. */
class LateLog extends RecordedLog {
  readonly #waiting: (() => void)[] = [];

  override append(entries: Parameters<RecordedLog['append']>[0]): CommitTicket {
    const isFirst = this.appends.length === 0;
    const { location } = super.append(entries);
    const acknowledged = new Deferred<void>();
    const ticket = {
      location: isFirst ? undefined : location,
      acknowledged: acknowledged.promise,
    };
    this.#waiting.push(() => {
      Object.assign(ticket, { location });
      acknowledged.resolve();
    });
    return ticket;
  }

  acknowledge(): void {
    for (const each of this.#waiting.splice(0)) each();
  }
}

it('the keys of a slot are in the index when one of them is asked for, and the others stay packed', async () => {
  const keys = ['{a}1', '{a}2', '{b}1', '{b}2', '{b}3'];
  const store = new Store(new Keyspace(), new RecordedLog());
  await takeOver(store, deadLog(keys));
  const { keyspace } = store;
  const [a, b] = [slotOfKey('{a}1'), slotOfKey('{b}1')];
  expect([keyspace.packed, keyspace.size, keyspace.sizeOf(a), keyspace.sizeOf(b)]).toEqual([5, 5, 2, 3]);
  expect(keyspace.get(b, '{b}4')).toBeUndefined();
  expect([keyspace.packed, keyspace.sizeOf(b), keyspace.indexed]).toEqual([2, 3, 3]);
  expect(keyspace.get(a, '{a}2')!.value).toBe('value of {a}2');
  expect([keyspace.packed, keyspace.unpackOne(), keyspace.indexed]).toEqual([0, false, 5]);
  expect([...keyspace.entries(b)].map(([key]) => key).sort()).toEqual(keys.slice(2));
});

it('a command does not wait for more keys of its slot than it may', async () => {
  const store = new Store(new Keyspace(), new RecordedLog());
  const keys = Array.from({ length: MAX_PACKED_KEYS + 500 }, (_, number) => `{a}${number}`);
  await takeOver(store, deadLog([...keys, 'b']));
  expect([store.keyspace.packed, store.keyspace.size]).toEqual([1, keys.length + 1]);
  expect(contentOf(store).size).toBe(keys.length + 1);
});

it('a command does not wait for large values of other keys', async () => {
  const dead = new RecordedLog();
  const runner = new CommandRunner(dead);
  runner.run('SET', 'a', 'v'.repeat(MAX_INDEXED_BYTES));
  runner.run('SET', 'b', 'v'.repeat(MAX_INDEXED_BYTES - 100));
  const store = new Store(new Keyspace(), new RecordedLog());
  await takeOver(store, dead);
  expect(store.keyspace.packed).toBe(1);
  expect(contentOf(store)).toEqual(contentOf(runner.store));
});

it('a key of two takeovers is there once, with the value of the second', async () => {
  const log = new RecordedLog();
  const store = new Store(new Keyspace(), log);
  const imports = new Imports(store);
  for (const [takeover, value] of ['old', 'new'].entries()) {
    const dead = new RecordedLog();
    new CommandRunner(dead).run('SET', 'k', value);
    await imports.take(takeover, partOf(dead.entries), NEVER);
  }
  expect([store.keyspace.size, contentOf(store)]).toEqual([1, new Map([['k', 'new']])]);
  expect(log.deadOffsets.size).toBe(1);
});

it('keys whose append the log refuses later are not here', async () => {
  const log = new ManualLog();
  log.refuseFrom(0, true);
  const store = new Store(new Keyspace(), log);
  expect(await rejection(takeOver(store, deadLog(['{a}1', '{a}2', 'b'])))).toMatchObject({
    code: 'ERR_RDMC_LOG_FULL',
  });
  expect([store.keyspace.size, contentOf(store).size]).toEqual([0, 0]);
});

it('a reply with a key whose append has a place waits for the acknowledgement of the append', async () => {
  const log = new ShortLog();
  Object.assign(log, { isShort: false, room: 1 });
  const runner = new CommandRunner(log);
  const taken = takeOver(runner.store, deadLog(['k']));
  while (log.appends.length === 0) await new Promise(setImmediate);
  expect(runner.run('GET', 'k')).toBe('');
  log.acknowledge(1);
  expect(runner.keyspace.indexed).toBe(0);
  await taken;
  expect([runner.replies(), runner.keyspace.size]).toEqual(['$10\r\nvalue of k\r\n', 1]);
  expect(runner.keyspace.indexed).toBe(1);
});

it('keys with an expiry are found by it at once', async () => {
  const dead = new RecordedLog();
  new CommandRunner(dead).run('SET', 'k', 'v', 'EX', '1000');
  const store = new Store(new Keyspace(), new RecordedLog());
  await takeOver(store, dead);
  expect([...store.keyspace.expiring.keys()]).toEqual(['k']);
});

it('a key that is overwritten before its append has a place is garbage there, once, and the others are live', async () => {
  const log = new LateLog();
  const runner = new CommandRunner(log);
  const taken = takeOver(runner.store, deadLog(['{a}1', '{a}2', '{a}3']));
  while (log.appends.length === 0) await new Promise(setImmediate);
  runner.turn(['SET', '{a}2', 'new']);
  log.acknowledge();
  await taken;
  const offsetOf = (key: string): number =>
    log.entries.find(({ payload }) => payload.includes(key))!.location.offset;
  expect([...log.deadOffsets]).toEqual([offsetOf('{a}2')]);
  runner.turn(['DEL', '{a}1']);
  log.acknowledge();
  await new Promise(setImmediate);
  expect([...log.deadOffsets]).toEqual([offsetOf('{a}2'), offsetOf('{a}1')]);
});

it('commands, cleanings and unpacking after a takeover leave what a model has, here and at the next takeover', async () => {
  // Of a hash that was taken over, the fields have another order.
  const command = modelCommand.filter(([name]) => !/^H(GETALL|KEYS|VALS)$/.test(name!));
  const step = fc.oneof({ weight: 6, arbitrary: command }, fc.nat());
  const run = fc.array(modelCommand, { minLength: 5, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(run, fc.array(step, { maxLength: 30 }), async (before, steps) => {
      const [dead, model] = [new RecordedLog(), new HashModel()];
      const source = new CommandRunner(dead);
      for (const words of before) expect(source.run(...words)).toBe(model.run(words));
      const log = new RecordedLog(2);
      const runner = new CommandRunner(log);
      await takeOver(runner.store, dead);
      expect(runner.keyspace.size).toBe(model.keys.size);
      for (const next of steps) {
        if (typeof next !== 'number') expect(runner.run(...next)).toBe(model.run(next));
        else if (next % 2) runner.keyspace.unpackOne();
        else log.clean(runner.keyspace, (index) => ((next >> (1 + (index % 16))) & 1) === 1);
      }
      expect(contentOf(await recover(log.entries))).toEqual(model.keys);
      const live = new StoreCleaner(runner.keyspace, () => {});
      for (const { type, payload, location } of log.entries) {
        if (type !== 2) continue;
        const isLive = live.isLive({ type, payload, offset: location.offset });
        expect(log.deadOffsets.has(location.offset)).toBe(!isLive);
      }
      expect(contentOf(runner.store)).toEqual(model.keys);
      expect([runner.keyspace.size, runner.keyspace.packed]).toEqual([model.keys.size, 0]);
    }),
    { numRuns: 60 },
  );
});
