/** What a server takes over of a dead one, against a log that acknowledges by hand. */
import { setImmediate as turn } from 'node:timers/promises';
import { rejection } from '@rdmc/testing';
import { beforeEach, expect, it } from 'vitest';
import { Imports } from '../src/cluster/imports.js';
import { recordHeader, u32 } from '../src/cluster/peer-frames.js';
import { Keyspace } from '../src/store/keyspace.js';
import { decodeRecord, encodeKeyObject, encodeKeyRemoval, type KeyRecord } from '../src/store/record.js';
import { slotOf } from '../src/store/slot.js';
import { Store } from '../src/store/store.js';
import { CommandRunner } from './support/command-runner.js';
import { ManualLog } from './support/manual-server.js';
import { frameOf, RecordedLog } from './support/recorded-log.js';

const SESSION = 'of the server that recovers';
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

function take(bytes: Buffer, session = SESSION): void {
  imports.take(bytes, session);
}

function finish(takeover: number, frames: number, session = SESSION): Promise<number> {
  return imports.finish({ takeover, frames, session }, NEVER);
}

/** A frame of a dead server's entries. */
function frame(takeover: number, records: readonly KeyRecord[]): Buffer {
  const parts = records.flatMap((record) => {
    const { value } = record;
    const entry =
      typeof value === 'string'
        ? encodeKeyObject({ ...record, value })
        : encodeKeyRemoval(record.key, record.version, 0n);
    const payload = Buffer.concat(entry.parts);
    return [recordHeader(entry.type, payload.length), payload];
  });
  return Buffer.concat([u32(takeover), ...parts]);
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

it('keys of a takeover that was given up and tried again are there at the recovery after it', async () => {
  take(frame(1, [record('k', 5, 'old'), record('gone', 6, 'x')]));
  await through(finish(1, 1));
  await through(imports.abandon(1, [[0, 16_383]]));
  expect(store.keyspace.size).toBe(0);
  take(frame(2, [record('k', 5, 'old'), record('gone', 6, 'x'), record('gone', 7, undefined)]));
  expect(await through(finish(2, 1))).toBe(1);
  expect(recovered()).toEqual(
    new Map([
      ['k', 'old'],
      ['gone', undefined],
    ]),
  );
});

it('what comes of a takeover after it was given up is not kept', async () => {
  take(frame(1, [record('k', 5, 'old')]));
  await through(imports.abandon(1, [[0, 16_383]]));
  take(frame(1, [record('k', 5, 'old')]));
  await expect(finish(1, 1)).rejects.toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  expect(log.appends).toEqual([]);
});

it('a further run of the coordinator ends takeovers of earlier runs, and drops what they left', async () => {
  take(frame(4, [record('k', 5, 'old')]));
  await through(finish(4, 1));
  take(frame(5, [record('half', 6, 'x')]));
  const halfway = finish(5, 2);
  halfway.catch(() => {});
  const own = slot('k');
  await through(
    imports.reset(7, [
      [0, own - 1],
      [own + 1, 16_383],
    ]),
  );
  await expect(halfway).rejects.toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  // The record gave it the slot of the first one meanwhile.
  expect(recovered().get('k')).toBe('old');
  take(frame(6, [record('late', 7, 'x')]));
  await expect(finish(6, 1)).rejects.toMatchObject({ code: 'ERR_RDMC_KV_TAKEOVER_FAILED' });
  await through(imports.reset(7, [[0, 16_383]]));
  expect(recovered()).toEqual(new Map([['k', undefined]]));
  take(frame(7, [record('k', 5, 'old')]));
  expect(await through(finish(7, 1))).toBe(1);
});

const value = 'v'.repeat(100_000);
const many = Array.from({ length: 30 }, (_, i) => record(`k${i}`, i + 1, value));

it('a takeover of which the log refused any part has failed', async () => {
  take(frame(1, many));
  const finished = finish(1, 1);
  finished.catch(() => {});
  await log.made(1);
  log.refuseAll(full());
  await expect(through(finished)).rejects.toMatchObject({ code: 'ERR_RDMC_LOG_FULL' });
});

it('what is given up goes in many appends, and is gone only when the log has taken each', async () => {
  const tagged = many.map((one) => ({ ...one, key: `{t}${one.key}${'x'.repeat(60_000)}` }));
  take(frame(1, tagged));
  await through(finish(1, 1));
  const before = log.appends.length;
  await through(imports.abandon(1, [[slot('{t}'), slot('{t}')]]));
  const removals = log.appends.slice(before);
  expect(removals.flat().length).toBe(many.length);
  for (const entries of removals) {
    const bytes = entries.flatMap(({ parts }) => parts).reduce((sum, { length }) => sum + length, 0);
    expect(bytes).toBeLessThan(log.maxAppendBytes / 2);
  }

  take(frame(2, tagged));
  await through(finish(2, 1));
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
  take(frame(1, [record(large, 1, 'old')]));
  await through(finish(1, 1));
  const made = log.appends.length;
  const order: string[] = [];
  const asked = ['first', 'second'].map((name) =>
    imports.abandon(1, [[0, 16_383]]).then(() => order.push(name)),
  );
  await log.made(made + 1);
  // The coordinator makes this server an heir when the second one has answered.
  const imported = asked[1]!.then(() => {
    take(frame(2, [record(behind!, 2, 'new')]));
    return finish(2, 1);
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
  take(frame(1, [record('k', 1, 'old')]));
  await through(finish(1, 1));
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
    for (const one of large) take(frame(1, [one]));
    expect(await through(finish(1, large.length))).toBe(large.length);
    await through(imports.abandon(1, [[0, 16_383]]));
    expect(store.keyspace.size).toBe(0);
  },
);

it('an import is answered when its last append is acknowledged, and not before', async () => {
  take(frame(1, [record('k', 5, 'v')]));
  let isAnswered = false;
  const finished = finish(1, 1).then(() => {
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
    take(frameOf(takeover, source.entries));
    return finish(takeover, 1).then(() => answered.push(takeover));
  });
  await log.made(1);
  for (let i = 0; i < 10; i += 1) await turn();
  expect(answered).toEqual([]);
  await Promise.all(finished.map(through));
  expect(log.appends.map(({ length }) => length)).toEqual([2, 2]);
});

it('frames that others send add nothing to a takeover, whatever they name', async () => {
  take(frame(1, [record('k', 9, 'forged'), record('more', 9, 'forged')]), 'of somebody else');
  take(frame(1, [record('k', 5, 'v')]));
  let isFinished = false;
  const finished = through(finish(1, 2)).then((count) => {
    isFinished = true;
    return count;
  });
  take(frame(1, [record('more', 9, 'forged')]), 'of somebody else');
  for (let i = 0; i < 10; i += 1) await turn();
  expect(isFinished).toBe(false);
  take(frame(1, [record('l', 6, 'v')]));
  expect(await finished).toBe(2);
  expect(recovered()).toEqual(
    new Map([
      ['k', 'v'],
      ['l', 'v'],
    ]),
  );
});

it('a takeover fails at once when the connection breaks that its frames come on, and no other', async () => {
  take(frame(1, [record('k', 5, 'v')]));
  const waits = finish(1, 2);
  waits.catch(() => {});
  imports.sessionEnded('of somebody else');
  await turn();
  take(frame(1, []));
  expect(await through(waits)).toBe(1);
  take(frame(2, [record('k', 5, 'v')]));
  const breaks = rejection(finish(2, 2));
  imports.sessionEnded(SESSION);
  // It does not wait for anything else.
  expect(await Promise.race([breaks, turn('it still waits')])).toMatchObject({
    code: 'ERR_RDMC_KV_TAKEOVER_FAILED',
  });
});

it('a connection that breaks when all frames are here changes nothing', async () => {
  take(frame(1, [record('k', 5, 'v')]));
  const finished = finish(1, 1);
  await log.made(1);
  imports.sessionEnded(SESSION);
  expect(await through(finished)).toBe(1);
});

it('the floor of a takeover is above what the heir has of its slots, which leaves the index without a write', async () => {
  const key = 'k';
  store.put(slot(key), key, 'of an earlier tenure', 0);
  const floor = await through(imports.floor(2, [[0, 16_383]]));
  const appends = log.appends.length;
  expect(floor).toBe(store.lastVersion);
  expect(store.keyspace.size).toBe(0);
  take(frame(2, [record('other', 5, 'new')]));
  await through(finish(2, 1));
  // Of both keys the log has an entry, and only that of the takeover is above the floor.
  const versions = log.appends.flat().map(({ type, parts }) => decodeRecord(type, Buffer.concat(parts))!);
  expect(versions.filter(({ version }) => version > floor).map((each) => each.key)).toEqual(['other']);
  expect(log.appends.length).toBe(appends + 1);
});
