/** Strings whose writes are acknowledged are read from the log's memory, and nobody sees a difference. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MAX_INDEXED_BYTES } from '../src/limits.js';
import { NO_EXPIRY } from '../src/store/entry.js';
import { IndexRecords, NONE } from '../src/store/index-records.js';
import { KeyHash } from '../src/store/key-hash.js';
import { LogIndex } from '../src/store/log-index.js';
import { LogMemory } from '../src/store/log-memory.js';
import { encodeKeyObject, objectBytes } from '../src/store/record.js';
import { CommandRunner } from './support/command-runner.js';
import { EntryMemory } from './support/entry-memory.js';
import { ManualLog } from './support/manual-server.js';
import { contentOf, RecordedLog, slotOfKey } from './support/recorded-log.js';
import { ShortLog } from './support/short-log.js';

const SLOT = 7;
/** The end of a log that goes on. */
const ended = (): AbortSignal => new AbortController().signal;

/** An index over segments of one memory, and what it must have. */
class Indexed {
  readonly memory = new EntryMemory();
  readonly index: LogIndex;
  readonly model = new Map<string, { version: number; segmentId: bigint; offset: number }>();
  #version = 0;

  /** @param hashes all hashes have these upper bits: many keys have the same one where there are few */
  constructor(hashes = 2 ** 32) {
    const hash = new KeyHash();
    const of: KeyHash['of'] = (bytes, start, end) =>
      Math.floor(hash.of(bytes, start, end) / (2 ** 32 / hashes)) * (2 ** 32 / hashes);
    this.index = new LogIndex({ memory: () => this.memory.bytes, ended: ended() }, { of });
  }

  put(key: string): void {
    this.take(key);
    const version = ++this.#version;
    const place = this.#place(key, version);
    expect(this.index.add(SLOT, key, place)).toBe(true);
    this.model.set(key, { version, ...place });
  }

  take(key: string): void {
    const known = this.model.get(key);
    const entry = this.index.take(SLOT, key);
    expect(entry?.version).toBe(known?.version);
    if (known) this.memory.free(known.offset);
    this.model.delete(key);
  }

  move(key: string): void {
    const known = this.model.get(key);
    if (!known) return;
    const place = this.#place(key, known.version);
    this.index.move(SLOT, key, place);
    this.memory.free(known.offset);
    this.model.set(key, { version: known.version, ...place });
  }

  check(): void {
    const found = new Map(this.index.entries(SLOT));
    expect([found.size, this.index.size, this.index.has(SLOT)]).toEqual([
      this.model.size,
      this.model.size,
      this.model.size > 0,
    ]);
    for (const [key, { version, segmentId, offset }] of this.model) {
      const expected = {
        value: `value of ${key}`,
        version,
        segmentId,
        offset,
        expiresAt: NO_EXPIRY,
        sequence: 0,
      };
      expect(this.index.get(SLOT, key)).toMatchObject(expected);
      expect(found.get(key)).toMatchObject(expected);
    }
    expect([...this.index.keys(SLOT)]).toEqual([...found.keys()]);
  }

  #place(key: string, version: number): { segmentId: bigint; offset: number } {
    const { type, parts } = encodeKeyObject({ key, version, value: `value of ${key}`, expiresAt: NO_EXPIRY });
    const offset = this.memory.place(type, Buffer.concat(parts));
    return { segmentId: BigInt(offset >> 10), offset };
  }
}

describe('the index', () => {
  it('has what a model has, whatever is added, taken and moved', () => {
    const key = fc.oneof(
      fc.nat(60).map(String),
      fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 40 }),
    );
    const step = fc.tuple(fc.constantFrom('put', 'put', 'take', 'move'), key);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.constantFrom(2 ** 32, 8, 1), (steps, hashes) => {
        const indexed = new Indexed(hashes);
        for (const [what, of] of steps) indexed[what as 'put'](of);
        indexed.check();
        for (const of of [...indexed.model.keys()]) indexed.take(of);
        indexed.check();
      }),
    );
  });

  it('has each key once for a reader that stops at every one, while others are added and taken', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 120 }), fc.nat(100), (changes, first) => {
        const indexed = new Indexed();
        for (let number = 0; number < first; number += 1) indexed.put(`stays ${number}`);
        const found: string[] = [];
        const left = [...changes];
        for (const key of indexed.index.keys(SLOT)) {
          found.push(key);
          for (const number of left.splice(0, 7)) {
            if (number % 2) indexed.put(`changes ${number}`);
            else indexed.take(`changes ${number + 1}`);
          }
        }
        const stayed = found.filter((key) => key.startsWith('stays'));
        expect(stayed.length).toBe(first);
        expect(new Set(stayed).size).toBe(first);
      }),
    );
  });

  it('does not have a place that the log does not have in memory', () => {
    const index = new LogIndex({ memory: () => undefined, ended: ended() });
    expect(index.add(SLOT, 'k', { segmentId: 1n, offset: 0 })).toBe(false);
    expect([index.size, index.get(SLOT, 'k'), index.has(SLOT)]).toEqual([0, undefined, false]);
  });

  it('does not ask a log that has ended', () => {
    const memory = (): never => {
      throw new Error('the memory is gone');
    };
    const index = new LogIndex({ memory, ended: AbortSignal.abort() });
    expect(index.add(SLOT, 'k', { segmentId: 1n, offset: 0 })).toBe(false);
  });

  it('has many keys in one slot, and gives their memory back', () => {
    const indexed = new Indexed();
    const mebibyte = 1024 * 1024;
    const most = 70_000;
    for (let number = 0; number < most; number += 1) indexed.put(String(number));
    expect(new Set(indexed.index.keys(SLOT)).size).toBe(most);
    for (const key of ['0', '65534', '65535', '65536', String(most - 1)])
      expect(indexed.index.get(SLOT, key)).toMatchObject({ value: `value of ${key}` });
    const full = indexed.index.bytes;
    expect(full).toBeGreaterThan(2 * mebibyte);
    for (let number = 0; number < most; number += 1) indexed.put(String(number));
    expect(indexed.index.bytes).toBe(full);
    for (let number = 0; number < most; number += 1) indexed.take(String(number));
    expect(indexed.index.bytes).toBe(mebibyte);
    indexed.put('again');
    indexed.check();
  });

  it('does not allocate with each write of an only key', () => {
    const records = new IndexRecords();
    const { bytes } = records;
    expect(bytes).toBe(0);
    const buffers = vi.spyOn(globalThis, 'SharedArrayBuffer');
    for (let write = 0; write < 100; write += 1) records.remove(records.add(NONE, 1, 0, 0));
    expect(buffers).toHaveBeenCalledTimes(1);
    buffers.mockRestore();
  });

  it('gives the view of a segment up when its last entry was taken or moved', () => {
    const memory = new EntryMemory();
    const asked: bigint[] = [];
    const index = new LogIndex({
      ended: ended(),
      memory: (segmentId) => {
        asked.push(segmentId);
        return memory.bytes;
      },
    });
    const place = (key: string, segmentId: bigint) => {
      const { type, parts } = encodeKeyObject({ key, version: 1, value: 'v', expiresAt: NO_EXPIRY });
      return { segmentId, offset: memory.place(type, Buffer.concat(parts)) };
    };
    index.add(SLOT, 'a', place('a', 1n));
    index.move(SLOT, 'a', place('a', 2n));
    index.add(SLOT, 'b', place('b', 1n));
    index.take(SLOT, 'b');
    index.add(SLOT, 'c', place('c', 1n));
    expect(asked).toEqual([1n, 2n, 1n, 1n]);
  });

  it('asks for a segment once, and does not keep its memory when it has no entry of it', () => {
    const asked: bigint[] = [];
    const memory = new LogMemory({
      ended: ended(),
      memory: (segmentId) => {
        asked.push(segmentId);
        return Buffer.alloc(1);
      },
    });
    const [a, b] = [memory.hold(5n)!, memory.hold(6n)!];
    expect([memory.hold(5n), memory.id(a), memory.id(b), asked]).toEqual([a, 5n, 6n, [5n, 6n]]);
    memory.release(a);
    memory.release(a);
    expect(memory.hold(7n)).toBe(a);
    expect([memory.id(a), memory.hold(5n) !== a, asked]).toEqual([7n, true, [5n, 6n, 7n, 5n]]);
  });
});

describe('the hash of a key', () => {
  const hashOf = (secret: string, text: string): number =>
    new KeyHash(Buffer.from(secret, 'hex')).of(Buffer.from(` ${text} `), 1, 1 + text.length);

  it('is that of the kernel', () => {
    // test_vectors_hsiphash of lib/test_siphash.c, for machines of 32 bits: 0, 1, 2, … bytes.
    const hash = new KeyHash(Buffer.from('0001020304050607', 'hex'));
    const message = Uint8Array.of(0, 1, 2, 3, 4);
    const hashes = [0, 1, 2, 3, 4].map((length) => hash.of(message, 0, length).toString(16).padStart(8, '0'));
    expect(hashes).toEqual(['5814c896', 'e7e864ca', 'bc4b0e30', '01539939', '7e059ea6']);
  });

  it('depends on the secret, on each byte and on the length, and on nothing else', () => {
    const texts = ['', '\0', '\0\0', 'a', 'b', 'abcd', 'abcde', 'abcdf', 'abcdefgh', 'abcdefg\0', 'abcdefg'];
    const secrets = ['0001020304050607', '0001020304050608', 'ffffffffffffffff'];
    const all = secrets.flatMap((secret) => texts.map((text) => hashOf(secret, text)));
    expect(new Set(all).size).toBe(all.length);
    expect(hashOf(secrets[0]!, 'abc')).toBe(hashOf(secrets[0]!, 'abc'));
  });

  it('spreads keys that differ in few bits', () => {
    const counts = new Uint32Array(256);
    for (let number = 0; number < 25_600; number += 1)
      counts[hashOf('0001020304050607', `key:${number}`) >>> 24]! += 1;
    // The mean is 100; with this secret it is the same in each run.
    expect(Math.min(...counts)).toBeGreaterThan(60);
    expect(Math.max(...counts)).toBeLessThan(140);
  });
});

describe('the keys of a store', () => {
  it('are read from the log when their writes are acknowledged', async () => {
    const log = new ShortLog();
    Object.assign(log, { isShort: false, room: 9 });
    const runner = new CommandRunner(log);
    const { keyspace } = runner;
    runner.turn(['SET', 'k', 'old']);
    expect(keyspace.indexed).toBe(0);
    log.acknowledge(1);
    await runner.store.settled();
    expect([keyspace.indexed, keyspace.size, runner.replies()]).toEqual([1, 1, '+OK\r\n']);
    expect(keyspace.get(slotOfKey('k'), 'k')).toMatchObject({ value: 'old', version: 1 });
    runner.turn(['SET', 'k', 'new']);
    expect([keyspace.indexed, keyspace.size]).toEqual([0, 1]);
    log.acknowledge(1);
    await runner.store.settled();
    expect([keyspace.indexed, keyspace.get(slotOfKey('k'), 'k')?.value]).toEqual([1, 'new']);
    expect([[...keyspace.keys(slotOfKey('k'))], [...keyspace.allKeys(slotOfKey('k'))]]).toEqual([
      ['k'],
      ['k'],
    ]);
    runner.turn(['DEL', 'k']);
    log.acknowledge(1);
    await runner.store.settled();
    expect([keyspace.indexed, keyspace.size, runner.run('GET', 'k')]).toEqual([0, 0, '+OK\r\n:1\r\n$-1\r\n']);
  });

  it('have the value of the last write when an earlier one is acknowledged', async () => {
    const log = new ShortLog();
    Object.assign(log, { isShort: false, room: 2 });
    const runner = new CommandRunner(log);
    runner.turn(['SET', 'k', 'old']);
    runner.turn(['SET', 'k', 'new']);
    log.acknowledge(1);
    await runner.store.whenAcknowledged(1);
    expect([runner.keyspace.indexed, runner.run('GET', 'k')]).toEqual([0, '+OK\r\n']);
    log.acknowledge(1);
    await runner.store.settled();
    expect([runner.keyspace.indexed, runner.replies()]).toEqual([1, '+OK\r\n$3\r\nnew\r\n']);
  });

  it('are as before where the log refuses a write', async () => {
    const log = new ShortLog();
    Object.assign(log, { isShort: false, room: 1 });
    const runner = new CommandRunner(log);
    runner.turn(['SET', 'k', 'kept']);
    log.acknowledge(1);
    await runner.store.settled();
    runner.replies();
    expect(runner.run('SET', 'k', 'refused')).toMatch(/^-.*no room/);
    expect([runner.run('GET', 'k'), runner.keyspace.size]).toEqual(['$4\r\nkept\r\n', 1]);
  });

  it('are read from the log again when a write is undone', () => {
    const runner = new CommandRunner(new RecordedLog(1));
    for (const key of ['{a}1', '{a}2', '{a}3']) runner.run('SET', key, `value of ${key}`);
    const work = (): void => {
      runner.store.put(slotOfKey('{a}1'), '{a}1', 'undone', NO_EXPIRY);
      throw new Error('for the test');
    };
    expect(() => runner.store.atomically(work, () => {})).toThrow('for the test');
    expect([runner.keyspace.indexed, runner.keyspace.size]).toEqual([3, 3]);
    expect(runner.run('GET', '{a}1')).toContain('value of {a}1');
  });

  it('are not read any more when the log has ended, and nothing is thrown but that', async () => {
    const end = new AbortController();
    const log = Object.assign(new RecordedLog(), { ended: end.signal });
    const runner = new CommandRunner(log);
    for (const key of ['{a}1', '{a}2', 'b']) runner.run('SET', key, 'v');
    runner.run('SET', 'large', 'v'.repeat(MAX_INDEXED_BYTES));
    // The log gives its memory back.
    log.segments.clear();
    end.abort(new Error('ended'));
    const refused = '-CLUSTERDOWN ERR_RDMC_KV_SLOT_UNAVAILABLE';
    for (const words of [
      ['GET', 'b'],
      ['SET', 'b', 'w'],
      ['DEL', 'b'],
      ['EXISTS', 'b'],
      ['KEYS', '*'],
      ['GET', 'none'],
    ])
      expect(runner.run(...words)).toContain(refused);
    expect(runner.run('PING')).toBe('+PONG\r\n');
    expect(() =>
      runner.keyspace.settle(slotOfKey('large'), 'large', runner.keyspace.get(slotOfKey('large'), 'large')!),
    ).not.toThrow();
  });

  it('of a write that is undone because the log has ended: nobody is told that it does not exist', () => {
    const end = new AbortController();
    const log = Object.assign(new RecordedLog(), { ended: end.signal });
    const runner = new CommandRunner(log);
    runner.run('SET', 'b', 'v');
    runner.store.put(slotOfKey('b'), 'b', 'w', NO_EXPIRY);
    log.append = () => {
      throw end.signal.reason;
    };
    log.segments.clear();
    end.abort(new Error('ended'));
    expect(runner.store.commit()).toBe(end.signal.reason);
    for (const words of [
      ['GET', 'b'],
      ['KEYS', '*'],
    ])
      expect(runner.run(...words)).toContain('ERR_RDMC_KV_SLOT_UNAVAILABLE');
  });

  it('are in the heap where they are large, hashes, or have an expiry', () => {
    const runner = new CommandRunner(new RecordedLog());
    const largest = 'v'.repeat(MAX_INDEXED_BYTES - objectBytes(1, 0, NO_EXPIRY));
    runner.run('SET', 'a', largest);
    expect(runner.keyspace.indexed).toBe(1);
    runner.run('SET', 'b', `${largest}v`);
    runner.run('HSET', 'c', 'f', 'v');
    runner.run('SET', 'd', 'v', 'EX', '1000');
    expect([runner.keyspace.indexed, runner.keyspace.size]).toEqual([1, 4]);
    runner.run('PERSIST', 'd');
    expect(runner.keyspace.indexed).toBe(2);
    runner.run('EXPIRE', 'a', '1000');
    expect([runner.keyspace.indexed, runner.keyspace.expiring.size]).toEqual([1, 1]);
    expect(contentOf(runner.store).get('a')).toBe(largest);
  });

  it('are in the heap where the log does not have them in memory', async () => {
    const log = new ManualLog();
    const runner = new CommandRunner(log);
    runner.turn(['SET', 'k', 'v']);
    log.acknowledge();
    await runner.store.settled();
    expect([runner.keyspace.indexed, contentOf(runner.store)]).toEqual([0, new Map([['k', 'v']])]);
  });

  it('have the places that the cleaner has told', () => {
    const log = new RecordedLog(1);
    const runner = new CommandRunner(log);
    const keys = Array.from({ length: 50 }, (_, number) => `{a}${number}`);
    for (const key of keys) runner.run('SET', key, `value of ${key}`);
    for (let round = 0; round < 3; round += 1) log.clean(runner.keyspace, () => true);
    expect(runner.keyspace.indexed).toBeGreaterThan(0);
    for (const key of keys) expect(runner.run('GET', key)).toContain(`value of ${key}`);
    expect(contentOf(runner.store).size).toBe(keys.length);
  });

  it('are forgotten with their slots, and their entries are garbage', async () => {
    const log = new RecordedLog();
    const runner = new CommandRunner(log);
    for (const key of ['{a}1', '{a}2', 'b']) runner.run('SET', key, 'v');
    const slot = slotOfKey('{a}1');
    await runner.store.forget([[slot, slot]]);
    expect([runner.keyspace.size, runner.keyspace.indexed, log.deadOffsets.size]).toEqual([1, 1, 2]);
  });
});
