/** What a server takes over of a dead one, against a log that acknowledges by hand. */
import { setImmediate as turn } from 'node:timers/promises';
import { Deferred, within } from '@rdmc/common';
import { rejection } from '@rdmc/testing';
import { beforeEach, expect, it } from 'vitest';
import { Imports, type PartOfLog } from '../src/cluster/imports.js';
import type { PartMemory } from '../src/cluster/part-memory.js';
import { Keyspace } from '../src/store/keyspace.js';
import { decodeRecord, encodeKeyObject, encodeKeyRemoval, type KeyRecord } from '../src/store/record.js';
import { slotOf } from '../src/store/slot.js';
import { Store } from '../src/store/store.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';
import { partOf, RecordedLog } from './support/recorded-log.js';

const NEVER = new AbortController().signal;
const full = (): Error => Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });

let log: ManualLog;
let store: Store;
let imports: Imports;

beforeEach(() => {
  log = new ManualLog();
  store = new Store(new Keyspace(), log);
  imports = new Imports(store);
});

function take(takeover: number, records: readonly KeyRecord[]): Promise<number> {
  return imports.take(takeover, partOf(entriesOf(records)), NEVER);
}

/** As a dead server's log has them. */
function entriesOf(records: readonly KeyRecord[]): { type: number; payload: Buffer }[] {
  return records.map((each) => {
    const { value } = each;
    const entry =
      typeof value === 'string'
        ? encodeKeyObject({ ...each, value })
        : encodeKeyRemoval(each.key, each.version, 0n);
    return { type: entry.type, payload: Buffer.concat(entry.parts) };
  });
}

/** Parts that come by hand. */
class Arrivals {
  readonly #waiting: Deferred<void>[] = [new Deferred()];
  readonly part: PartOfLog;

  constructor(...groups: readonly (readonly KeyRecord[])[]) {
    const waiting = this.#waiting;
    const all = groups.map((records) => partOf(entriesOf(records)));
    this.part = {
      tenures: all[0]!.tenures,
      async *parts(signal, memory) {
        for (const [index, each] of all.entries()) {
          await within(waiting[index]!.promise, { signal });
          waiting.push(new Deferred());
          yield* each.parts(signal, memory);
        }
      },
    };
  }

  next(): void {
    this.#waiting.at(-1)!.resolve();
  }
}

function record(key: string, version: number, value: string | undefined): KeyRecord {
  return { key, version, value, expiresAt: 0 };
}

function slot(key: string): number {
  const bytes = Buffer.from(key);
  return slotOf(bytes, 0, bytes.length);
}

/** What a recovery of this server's log would find: of every key the entry with the highest version. */
function recovered(): Map<string, KeyRecord['value']> {
  const latest = new Map<string, KeyRecord>();
  for (const { type, parts } of log.appends.flat()) {
    const found = decodeRecord(type, Buffer.concat(parts))!;
    const known = latest.get(found.key);
    if (!known || known.version < found.version) latest.set(found.key, found);
  }
  return new Map([...latest].map(([key, { value }]) => [key, value]));
}

/** Acknowledges whatever comes until it has ended. */
async function through<T>(work: Promise<T>): Promise<T> {
  let done = false;
  const ended = work.finally(() => {
    done = true;
  });
  ended.catch(() => {});
  for (let seen = 0; !done; ) {
    await Promise.race([log.made(seen + 1), ended.catch(() => {})]);
    seen = log.appends.length;
    log.acknowledge();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return ended;
}

/** What has ended by itself, without anything that comes later. */
function soon<T>(ended: Promise<T>): Promise<T | string> {
  return Promise.race([ended, turn().then(() => turn('it still waits'))]);
}

it('keys of a takeover that was given up and tried again are there at the recovery after it', async () => {
  await through(take(1, [record('k', 5, 'old'), record('gone', 6, 'x')]));
  await through(imports.abandon(1, [[0, 16_383]]));
  expect(store.keyspace.size).toBe(0);
  expect(
    await through(take(2, [record('k', 5, 'old'), record('gone', 6, 'x'), record('gone', 7, undefined)])),
  ).toBe(3);
  expect(recovered()).toEqual(
    new Map([
      ['k', 'old'],
      ['gone', undefined],
    ]),
  );
});

it('what comes of a takeover after it was given up is not kept', async () => {
  await through(imports.abandon(1, [[0, 16_383]]));
  await expect(take(1, [record('k', 5, 'old')])).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_TAKEOVER_FAILED',
  });
  expect(log.appends).toEqual([]);
});

it('a further run of the coordinator ends takeovers of earlier runs, and drops what they left', async () => {
  await through(take(4, [record('k', 5, 'old')]));
  const half = new Arrivals([record('half', 6, 'x')], []);
  const halfway = rejection(imports.take(5, half.part, NEVER));
  half.next();
  const own = slot('k');
  await through(
    imports.reset(7, [
      [0, own - 1],
      [own + 1, 16_383],
    ]),
  );
  expect(await soon(halfway)).toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  // The record gave it the slot of the first one meanwhile.
  expect(recovered().get('k')).toBe('old');
  await expect(take(6, [record('late', 7, 'x')])).rejects.toMatchObject({
    code: 'ERR_RDMC_KV_TAKEOVER_FAILED',
  });
  await through(imports.reset(7, [[0, 16_383]]));
  expect(recovered()).toEqual(new Map([['k', undefined]]));
  expect(await through(take(7, [record('k', 5, 'old')]))).toBe(1);
});

const value = 'v'.repeat(100_000);
const many = Array.from({ length: 30 }, (_, i) => record(`k${i}`, i + 1, value));

it('a takeover of which the log refused any part has failed', async () => {
  const finished = take(1, many);
  finished.catch(() => {});
  await log.made(1);
  log.refuseAll(full());
  await expect(through(finished)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
});

it('what is given up goes in many appends, and is gone only when the log has taken each', async () => {
  const tagged = many.map((one) => ({ ...one, key: `{t}${one.key}${'x'.repeat(60_000)}` }));
  await through(take(1, tagged));
  const before = log.appends.length;
  await through(imports.abandon(1, [[slot('{t}'), slot('{t}')]]));
  const removals = log.appends.slice(before);
  expect(removals.flat().length).toBe(many.length);
  for (const entries of removals) {
    const bytes = entries.flatMap(({ parts }) => parts).reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(log.maxAppendBytes / 2);
  }

  await through(take(2, tagged));
  const made = log.appends.length;
  const abandoned = imports.abandon(2, [[0, 16_383]]);
  abandoned.catch(() => {});
  await log.made(made + 1);
  log.refuseAll(full());
  await expect(through(abandoned)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
});

it('a second removal ends after the first one, which does not remove what comes then', async () => {
  // The removal of this key fills a frame: the first removal waits for the log before it looks at the slots behind.
  const [first, behind] = [0, 1].map((tag) => `{${tag}}`).sort((a, b) => slot(a) - slot(b));
  const large = `${first}${'x'.repeat(400_000)}`;
  await through(take(1, [record(large, 1, 'old')]));
  const made = log.appends.length;
  const order: string[] = [];
  const asked = ['first', 'second'].map((name) =>
    imports.abandon(1, [[0, 16_383]]).then(() => order.push(name)),
  );
  await log.made(made + 1);
  // The coordinator makes this server an heir when the second one has answered.
  const imported = asked[1]!.then(() => {
    return take(2, [record(behind!, 2, 'new')]);
  });
  for (let i = 0; i < 10; i += 1) await turn();
  expect(order).toEqual([]);
  await through(imported);
  await through(Promise.all(asked));
  expect(order).toEqual(['first', 'second']);
  expect(recovered()).toEqual(
    new Map([
      [large, undefined],
      [behind, 'new'],
    ]),
  );
});

it('a removal that the log refused is done again by the one behind it', async () => {
  await through(take(1, [record('k', 1, 'old')]));
  const made = log.appends.length;
  const [first, second] = [imports.abandon(1, [[0, 16_383]]), imports.abandon(1, [[0, 16_383]])];
  first!.catch(() => {});
  second!.catch(() => {});
  await log.made(made + 1);
  log.refuseAll(full());
  await expect(first).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
  await through(second!);
  expect([store.keyspace.size, log.appends.length]).toEqual([0, made + 2]);
});

/** A removal of these keys and, in an append before them, of one that fills it. The log is short of room. */
async function removalUnderWay(behind: readonly string[]): Promise<{ removal: Promise<void>; made: number }> {
  const keys = [`{0}${'x'.repeat(400_000)}`, ...behind];
  await through(
    take(
      1,
      keys.map((key, index) => record(key, index + 1, 'old')),
    ),
  );
  const made = log.appends.length + 1;
  log.isShort = true;
  store.beginTurn();
  const removal = imports.abandon(1, [[0, 16_383]]);
  await log.made(made);
  return { removal, made };
}

it('a removal waits for what one before it has sent, also where that was told of a refusal', async () => {
  const behind = ['{1}', '{2}', '{3}', '{4}'].find((key) => slot(key) > slot('{0}'))!;
  const { removal, made } = await removalUnderWay([behind]);
  const second = imports.abandon(1, [[0, 16_383]]);
  // The log refuses this, and takes the removal behind it.
  store.put(slot('other'), 'other', 'v', 0);
  log.acknowledge();
  await log.made(made + 2);
  log.refuseAll(full());
  await expect(removal).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
  expect([await soon(second), log.appends.length]).toEqual(['it still waits', made + 3]);
  // Not this time.
  log.refuseAll(full());
  await through(second);
  expect([store.keyspace.size, log.appends.length]).toEqual([0, made + 4]);
});

it('a removal ends where the turn has begun an append that nobody writes to', async () => {
  const { removal, made } = await removalUnderWay([]);
  store.put(slot('other'), 'other', 'v', 0);
  log.isShort = false;
  store.beginTurn();
  log.acknowledge();
  await log.made(made + 1);
  log.acknowledge();
  expect(await soon(removal)).toBeUndefined();
});

it.each([
  [8, 950_000, 1024 * 1024],
  [4, 500_000, 500_000],
  [4, 40_000, 900_000],
])(
  'a takeover ends whose entries fit a log with segments of %d MiB only one by one',
  async (mib, key, most) => {
    log = new ManualLog(Math.floor((mib * 1024 * 1024 - 64) / 4));
    store = new Store(new Keyspace(), log);
    imports = new Imports(store);
    const small: [number, number] = [10, 200_000];
    const sizes = [small, [key, most], small, [key, 1], [key, most], small, [key, most]] as [
      number,
      number,
    ][];
    const large = sizes.map(([bytes, size], i) => record(`${i}`.padEnd(bytes, 'k'), i + 1, 'v'.repeat(size)));
    expect(await through(take(1, large))).toBe(large.length);
    await through(imports.abandon(1, [[0, 16_383]]));
    expect(store.keyspace.size).toBe(0);
  },
);

it('an import is answered when its last append is acknowledged, and not before', async () => {
  let isAnswered = false;
  const finished = take(1, [record('k', 5, 'v')]).then(() => {
    isAnswered = true;
  });
  await log.made(1);
  for (let i = 0; i < 10; i += 1) await turn();
  expect(isAnswered).toBe(false);
  log.acknowledge();
  await finished;
  expect(log.appends.length).toBe(1);
});

it('takeovers of hashes that end at the same time each wait for their own writes', async () => {
  const answered: number[] = [];
  const finished = [1, 2].map((takeover) => {
    const source = new RecordedLog();
    new CommandRunner(source).run('HSET', `k${takeover}`, 'f', '1');
    return imports.take(takeover, partOf(source.entries), NEVER).then(() => answered.push(takeover));
  });
  await log.made(1);
  for (let i = 0; i < 10; i += 1) await turn();
  expect(answered).toEqual([]);
  await Promise.all(finished.map(through));
  expect(log.appends.map(({ length }) => length)).toEqual([2, 2]);
});

it('a takeover waits for every part, and fails at once when it is given up meanwhile', async () => {
  const both = new Arrivals([record('k', 5, 'v')], [record('l', 6, 'v')]);
  let isFinished = false;
  const finished = through(imports.take(1, both.part, NEVER)).then((count) => {
    isFinished = true;
    return count;
  });
  both.next();
  for (let i = 0; i < 10; i += 1) await turn();
  expect([isFinished, log.appends]).toEqual([false, []]);
  both.next();
  expect(await finished).toBe(2);
  const half = new Arrivals([record('half', 7, 'x')], []);
  const ended = rejection(imports.take(2, half.part, NEVER));
  half.next();
  await turn();
  const abandoned = through(imports.abandon(2, [[slot('half'), slot('half')]]));
  // It does not wait for anything else.
  expect(await soon(ended)).toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  await abandoned;
  expect(recovered()).toEqual(
    new Map([
      ['k', 'v'],
      ['l', 'v'],
    ]),
  );
});

it('nothing is written of a takeover whose parts do not all come', async () => {
  const lost = new Error('no backup has it');
  const part: PartOfLog = {
    tenures: { isReplayed: () => true },
    async *parts(signal, memory) {
      yield* partOf(entriesOf([record('k', 5, 'v')])).parts(signal, memory);
      throw lost;
    },
  };
  expect(await rejection(imports.take(1, part, NEVER))).toBe(lost);
  expect([log.appends, store.keyspace.size]).toEqual([[], 0]);
});

it('entries of other tenures do not count', async () => {
  const part = partOf(entriesOf([record('k', 5, 'old'), record('l', 6, 'v')]));
  const tenures = { isReplayed: (_: number, version: number) => version > 5 };
  expect(await through(imports.take(1, { ...part, tenures }, NEVER))).toBe(1);
  expect(recovered()).toEqual(new Map([['l', 'v']]));
});

it('the floor of a takeover is above what the heir has of its slots, which leaves the index without a write', async () => {
  const key = 'k';
  store.put(slot(key), key, 'of an earlier tenure', 0);
  const floor = await through(imports.floor(2, [[0, 16_383]]));
  const appends = log.appends.length;
  expect(floor).toBe(store.lastVersion);
  expect(store.keyspace.size).toBe(0);
  await through(take(2, [record('other', 5, 'new')]));
  // Of both keys the log has an entry, and only that of the takeover is above the floor.
  const versions = log.appends.flat().map(({ type, parts }) => decodeRecord(type, Buffer.concat(parts))!);
  expect(versions.filter(({ version }) => version > floor).map((each) => each.key)).toEqual(['other']);
  expect(log.appends.length).toBe(appends + 1);
});

it('entries of a takeover are divided among appends that are as small as the log asks for', async () => {
  log = new ManualLog(1000);
  imports = new Imports(new Store(new Keyspace(), log));
  const records = ['a', 'b', 'c'].map((key, index) => record(key, index + 1, 'v'.repeat(400)));
  expect(await through(take(1, records))).toBe(3);
  expect(log.appends.map(({ length }) => length)).toEqual([2, 1]);
});

/** Takeovers of a key, whose parts come in the memory that they get. */
class InMemory {
  readonly memories: PartMemory[] = [];
  /** What each part got of it. */
  readonly pieces: Buffer[] = [];

  part(failure?: Error): PartOfLog {
    const { memories, pieces } = this;
    return {
      tenures: { isReplayed: () => true },
      async *parts(signal, memory) {
        memories.push(memory);
        for await (const { bytes } of partOf(entriesOf([record('k', 5, 'v')])).parts(signal, memory)) {
          const copy = memory.allocate(bytes.length);
          copy.set(bytes);
          pieces.push(copy);
          yield { bytes: copy };
        }
        if (failure) throw failure;
      },
    };
  }
}

it('an attempt reads into the memory of one that failed before it wrote, and not into that of keys which were written', async () => {
  const taken = new InMemory();
  const lost = new Error('a backup is lost');
  expect(await rejection(imports.take(1, taken.part(lost), NEVER))).toBe(lost);
  await through(imports.take(2, taken.part(), NEVER));
  await through(imports.take(3, taken.part(), NEVER));
  const { memories, pieces } = taken;
  expect(memories[1]).toBe(memories[0]);
  expect([pieces[1]!.buffer, pieces[1]!.byteOffset]).toEqual([pieces[0]!.buffer, pieces[0]!.byteOffset]);
  expect(memories[2]).not.toBe(memories[1]);
});

it('an attempt behind one that failed while it wrote gets other memory, which the garbage collector counts', async () => {
  const taken = new InMemory();
  const refused = rejection(imports.take(1, taken.part(), NEVER));
  await log.made(1);
  log.refuseAll(full());
  expect(await refused).toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
  await through(imports.take(2, taken.part(), NEVER));
  const [first, second] = taken.pieces;
  // The test keeps the first one, so it is not collected.
  expect(taken.memories[0]!.isCounted).toBe(false);
  expect(first!.buffer).toBeInstanceOf(SharedArrayBuffer);
  expect(second!.buffer).toBeInstanceOf(ArrayBuffer);
});
