/** Hashes against plain maps: the replies, and what a recovery of any prefix of the log finds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Imports } from '../src/cluster/imports.js';
import { StoreCleaner } from '../src/log/store-cleaner.js';
import { Keyspace } from '../src/store/keyspace.js';
import { decodeRecord, encodeField, encodeHead } from '../src/store/record.js';
import { Store } from '../src/store/store.js';
import { CommandRunner } from './support/command-runner.js';
import { HashModel, modelCommand } from './support/hash-model.js';
import { ManualLog } from './support/manual-server.js';
import {
  contentOf,
  namesOf,
  partOf,
  type RecordedEntry,
  RecordedLog,
  recover,
  slotOfKey,
} from './support/recorded-log.js';

const commands = fc.array(modelCommand, { minLength: 1, maxLength: 40 });

/** In another order, by a seed: a recovery reads segments in any order. */
function shuffled(entries: readonly RecordedEntry[], seed: number): RecordedEntry[] {
  const keyed = entries.map((entry, index) => ({ entry, at: Math.imul(index + 1, seed | 1) >>> 0 }));
  return keyed.sort((a, b) => a.at - b.at).map(({ entry }) => entry);
}

describe('commands on strings and hashes', () => {
  it('have the replies of a model, and each prefix of the log recovers to its state', async () => {
    await fc.assert(
      fc.asyncProperty(commands, fc.nat(), async (lines, seed) => {
        const log = new RecordedLog();
        const runner = new CommandRunner(log);
        const model = new HashModel();
        const states = [model.snapshot()];
        for (const words of lines) {
          const before = log.appends.length;
          expect(runner.run(...words), words.join(' ')).toBe(model.run(words));
          expect(log.appends.length - before).toBeLessThanOrEqual(1);
          states[log.appends.length] = model.snapshot();
        }
        expect(contentOf(runner.store)).toEqual(model.keys);
        for (const [appends, state] of states.entries()) {
          const entries = shuffled(log.appends.slice(0, appends).flat(), seed);
          expect(contentOf(await recover(entries)), `after ${appends} appends`).toEqual(state);
        }
      }),
    );
  });

  it('are recovered from a log that was cleaned again and again', async () => {
    const step = fc.oneof({ weight: 6, arbitrary: modelCommand }, fc.nat());
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), fc.nat(), async (steps, seed) => {
        const log = new RecordedLog(2);
        const runner = new CommandRunner(log);
        const model = new HashModel();
        for (const next of steps) {
          if (typeof next === 'number')
            log.clean(runner.keyspace, (index) => ((next >> (index % 16)) & 1) === 1);
          else expect(runner.run(...next)).toBe(model.run(next));
          expect(contentOf(await recover(shuffled(log.entries, seed)))).toEqual(model.keys);
        }
        // All that is not live was reported, once.
        const live = new StoreCleaner(runner.keyspace, () => {});
        for (const { type, payload, location } of log.entries) {
          if (type !== 2) continue;
          const isLive = live.isLive({ type, payload, offset: location.offset });
          expect(log.deadOffsets.has(location.offset)).toBe(!isLive);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the log of a hash', () => {
  it('gets one entry for each field that is written, whatever the size of the hash', () => {
    const log = new RecordedLog();
    const runner = new CommandRunner(log);
    const pairs = Array.from({ length: 1000 }, (_, i) => [`f${i}`, 'v'.repeat(50)]);
    runner.run('HSET', 'k', ...pairs.flat());
    expect(runner.run('HINCRBY', 'k', 'n', '5')).toBe(':5\r\n');
    expect(runner.run('HDEL', 'k', 'f1', 'f2')).toBe(':2\r\n');
    expect(runner.run('DEL', 'k')).toBe(':1\r\n');
    expect(log.appends.slice(1).map(namesOf)).toEqual([['k.n'], ['k.f1', 'k.f2'], ['k']]);
  });

  it('has this layout', () => {
    const bytes = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString('hex');
    const head = encodeHead({ key: 'k', version: 7, value: 5, expiresAt: 0 });
    expect(bytes(head.parts)).toBe(`${'0700000000000000'}02000000${'006b'}${'02'}0500000000000000`);
    const expiring = encodeHead({ key: 'k', version: 7, value: 2 ** 33, expiresAt: 1 });
    expect(bytes(expiring.parts)).toBe('070000000000000002000000006b03000000000000f03f0000000002000000');
    expect(bytes(encodeField('k', 'ab', 9, 'v').parts)).toBe(
      '0900000000000000080000000101000000' + '6b616276',
    );
  });

  it('refuses an entry that this version does not write', () => {
    const field = Buffer.concat(encodeField('key', 'f', 1, 'v').parts);
    field[13] = 200;
    expect(() => decodeRecord(2, field)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_ENTRY_DAMAGED' }));
    field[12] = 9;
    expect(() => decodeRecord(2, field)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_ENTRY_DAMAGED' }));
  });
});

it('a takeover that was given up and tried again leaves no field of the first attempt', async () => {
  const dead = new RecordedLog();
  const source = new CommandRunner(dead);
  source.run('HSET', 'k', 'f', '1', 'g', '2');
  const first = dead.entries;
  source.run('HDEL', 'k', 'g');
  const log = new RecordedLog();
  const store = new Store(new Keyspace(), log);
  const imports = new Imports(store);
  for (const [takeover, entries] of [first, dead.entries].entries()) {
    await imports.take(takeover, partOf(entries), new AbortController().signal);
    if (takeover === 0) await imports.abandon(takeover, [[0, 16_383]]);
  }
  const expected = new Map([['k', new Map([['f', '1']])]]);
  expect(contentOf(store)).toEqual(expected);
  expect(contentOf(await recover(log.entries))).toEqual(expected);
});

it('a hash without its fields, or without its head, is not there after a loss that was accepted', async () => {
  const log = new RecordedLog();
  const runner = new CommandRunner(log);
  runner.run('HSET', 'k', 'f', '1');
  const [head, field] = log.entries;
  for (const entry of [head!, field!]) expect(contentOf(await recover([entry])).size).toBe(0);
});

it('a key with the bytes of an entry of the log is a key like others', async () => {
  const log = new RecordedLog();
  const runner = new CommandRunner(log);
  const keys = ['\x01\x01\0\0\0kf', '\0k', '\x01', ''];
  runner.turn(['HSET', 'k', 'f', '1'], ...keys.map((key) => ['SET', key, 'v']), ['DEL', '\0k']);
  const expected = new Map<string, unknown>([['k', new Map([['f', '1']])]]);
  for (const key of keys) if (key !== '\0k') expected.set(key, 'v');
  expect(contentOf(runner.store)).toEqual(expected);
  expect(contentOf(await recover(log.entries))).toEqual(expected);
});

it('SCAN finds keys of a type', () => {
  const runner = new CommandRunner(new RecordedLog());
  runner.turn(['SET', 's', '1'], ['HSET', 'h', 'f', '1']);
  runner.replies();
  const found = (type: string): string[] => {
    const keys: string[] = [];
    let cursor = '0';
    do {
      const lines = runner.run('SCAN', cursor, 'TYPE', type).split('\r\n');
      cursor = lines[2]!;
      keys.push(...lines.slice(4).filter((line) => /^\w$/.test(line)));
    } while (cursor !== '0');
    return keys;
  };
  expect([found('hash'), found('STRING'), found('list')]).toEqual([['h'], ['s'], []]);
});

describe('limits come from the log', () => {
  it('fields of one command must fit into an append; nothing is done where they do not', () => {
    const runner = new CommandRunner(new ManualLog(2000));
    const [a, b] = ['a'.repeat(900), 'b'.repeat(900)];
    expect(runner.run('HSET', 'k', 'f', a, 'g', b, 'h', a)).toMatch(
      /^-ERR ERR_RDMC_ENTRY_TOO_LARGE .* the limit of 2000 .*nothing was done\r\n$/,
    );
    expect(runner.run('EXISTS', 'k')).toBe(':0\r\n');
  });

  it('a field that could not be removed is not stored', () => {
    const runner = new CommandRunner(new ManualLog(2000));
    // The entry would have 2000 bytes with the head's 34 apart, its removal 2004.
    expect(runner.run('HSET', 'k', 'f'.repeat(1970), '')).toMatch(/^-ERR ERR_RDMC_ENTRY_TOO_LARGE /);
    expect(runner.run('EXISTS', 'k')).toBe(':0\r\n');
  });
});

describe('what the log has not acknowledged', () => {
  it('is not told; other fields are', async () => {
    const log = new ManualLog();
    const runner = new CommandRunner(log);
    runner.turn(['HSET', 'k', 'f', '1', 'g', '1']);
    log.acknowledge();
    await new Promise(setImmediate);
    expect(runner.replies()).toBe(':2\r\n');
    runner.turn(['HSET', 'k', 'f', '2']);
    expect(new CommandRunner(runner).run('HGET', 'k', 'g')).toBe('$1\r\n1\r\n');
    const waiting = ['HGET k f', 'HLEN k', 'HGETALL k', 'OBJECT ENCODING k'].map((line) => {
      const client = new CommandRunner(runner);
      expect(client.run(...line.split(' '))).toBe('');
      return client;
    });
    log.acknowledge();
    await new Promise(setImmediate);
    expect(waiting.map((client) => client.replies())).toEqual([
      '$1\r\n2\r\n',
      ':2\r\n',
      '*4\r\n$1\r\nf\r\n$1\r\n2\r\n$1\r\ng\r\n$1\r\n1\r\n',
      '$8\r\nlistpack\r\n',
    ]);
  });

  it('is undone where the log refuses it, in hashes too', async () => {
    const log = new ManualLog();
    const runner = new CommandRunner(log);
    runner.turn(['HSET', 'k', 'f', '1', 'g', '1'], ['SET', 's', 'x']);
    log.acknowledge();
    await new Promise(setImmediate);
    runner.replies();
    const before = contentOf(runner.store);
    log.refusal = Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
    runner.turn(
      ['HSET', 'k', 'f', '2', 'new', '3'],
      ['HDEL', 'k', 'g'],
      ['DEL', 'k'],
      ['HSET', 'k', 'f', '9'],
    );
    runner.turn(['DEL', 's'], ['HSET', 's', 'f', '1'], ['HDEL', 's', 'f']);
    expect(runner.replies().match(/OOM/g)?.length).toBe(7);
    expect(contentOf(runner.store)).toEqual(before);
    expect(runner.run('HLEN', 'k')).toBe(':2\r\n');
    expect(runner.run('HGETALL', 'k')).toBe('*4\r\n$1\r\nf\r\n$1\r\n1\r\n$1\r\ng\r\n$1\r\n1\r\n');
  });

  it('does not free what it supersedes', async () => {
    const log = new ManualLog();
    const runner = new CommandRunner(log);
    const cleaner = new StoreCleaner(runner.keyspace, () => {});
    const isLive = (append: number, entry: number): boolean => {
      const { type, parts } = log.appends[append]![entry]!;
      return cleaner.isLive({ type, payload: Buffer.concat(parts), offset: 0 });
    };
    const acknowledged = async (): Promise<void> => {
      log.acknowledge();
      await new Promise(setImmediate);
    };
    runner.turn(['HSET', 'k', 'f', '1', 'g', '1']);
    await acknowledged();
    runner.turn(['HSET', 'k', 'f', '2']);
    expect([isLive(0, 0), isLive(0, 1), isLive(0, 2)]).toEqual([true, true, true]);
    await acknowledged();
    expect([isLive(0, 0), isLive(0, 1), isLive(0, 2)]).toEqual([true, false, true]);
    runner.turn(['DEL', 'k']);
    expect([isLive(0, 0), isLive(0, 2), isLive(1, 0)]).toEqual([true, true, true]);
    await acknowledged();
    expect([isLive(0, 0), isLive(0, 2), isLive(1, 0)]).toEqual([false, false, false]);
    expect(runner.keyspace.get(slotOfKey('k'), 'k')).toBeUndefined();
  });
});
