import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { refusal, rejection, rounds, temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIB, PULL_HASHES_IN_FRAME } from '../src/constants.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import { Origin, type OriginFacts } from '../src/pull/origin.js';
import { NUMBER_BYTES } from '../src/pull/piece-message.js';
import { PieceStore } from '../src/pull/piece-store.js';
import { asAfterKill } from './support/killed.js';
import { temporaries } from './support/receivers.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

function newStore(directory: string): PieceStore {
  const none = (): void => {};
  const store = new PieceStore({
    directory,
    castId: randomUUID(),
    sync: undefined,
    step: none,
    active: none,
  });
  onTestFinished(() => store.close());
  return store;
}

/** What an origin offers, and a store that has been told of it. */
async function offered(from: string, directory = temporaryDirectory()) {
  const origin = new Origin(from);
  onTestFinished(() => origin.close());
  const facts = origin.survey(Buffer.alloc(0));
  const store = newStore(directory);
  tell(store, origin, facts);
  const { bits } = await store.begin(facts.root, 'size-time');
  return { origin, facts, store, bits, directory };
}

function tell(store: PieceStore, origin: Origin, { manifest, pieces }: OriginFacts): void {
  for (const { first, count, data } of manifest) store.entries(first, count, data);
  for (let first = 0; first < pieces; first += PULL_HASHES_IN_FRAME)
    store.hashes(first, origin.hashes(first).toString('base64'));
}

/** A message with one piece, as the server fills it. */
function message(origin: Origin, piece: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES + origin.map.bytesOf(piece));
  bytes.writeUInt32LE(piece);
  expect(origin.read(piece, bytes.subarray(NUMBER_BYTES))).toBeUndefined();
  return bytes;
}

describe('a store of pieces', () => {
  it('has the same tree in the end, in whatever order pieces arrive, altered ones and repeated ones among them', async () => {
    await rounds(5, async (random, seed) => {
      const from = temporaryDirectory();
      for (let number = 0; number < 6; number += 1) {
        const size = random.below(4) === 0 ? 0 : 1 + random.below(3 * MIB);
        write(from, `d${random.below(2)}/f${number}`, seededBytes(size, seed + number), 0o640);
      }
      const { origin, facts, store, directory } = await offered(from);
      const pieces = Array.from({ length: facts.pieces }, (_, piece) => [random.word(), piece] as const)
        .sort(([a], [b]) => a - b)
        .map(([, piece]) => piece);
      for (const piece of pieces) {
        const altered = message(origin, piece);
        altered[NUMBER_BYTES + random.below(altered.length - NUMBER_BYTES)]! ^= 1 << random.below(8);
        expect(await store.store(altered)).toBe(false);
        expect(await store.store(message(origin, piece))).toBe(true);
        if (random.below(3) === 0) expect(await store.store(message(origin, piece))).toBe(true);
      }
      expect(await store.finish(undefined)).toMatchObject({
        files: 6,
        receivedBytes: facts.bytes,
        problemCount: 0,
      });
      await store.close();
      expectSameTree(directory, from);
    });
  });

  it('gives no file its name before all of its pieces are there, and does not end without them', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(2 * MIB, 1));
    const { origin, store, directory } = await offered(from);
    await store.store(message(origin, 1));
    const visible = (): string[] => namesIn(directory).filter((name) => !name.startsWith('.rdmc-cast-'));
    expect(visible()).toEqual([]);
    expect(await rejection(store.finish(undefined))).toEqual(refusal('ERR_RDMC_CAST_PROTOCOL'));
    await store.close();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('leaves complete files of new directories when it ends early, and nothing after a kill', async () => {
    const from = temporaryDirectory();
    write(from, 'd/complete', seededBytes(MIB, 1));
    write(from, 'd/incomplete', seededBytes(2 * MIB, 2));
    const { origin, store, directory } = await offered(from);
    for (const piece of [0, 1]) await store.store(message(origin, piece));
    const killed = asAfterKill(directory);
    expect(temporaries(killed)).toHaveLength(1);
    await newStore(killed).close();
    expect(readdirSync(killed)).toEqual([]);
    await store.close();
    expect(namesIn(directory)).toEqual(['d', 'd/complete']);
  });

  it('refuses another list than that of the root hash, skipped parts of it, links, and malformed messages', async () => {
    const from = temporaryDirectory();
    write(from, 'file', 'contents');
    const { origin, facts, store } = await offered(from);
    for (const wrong of [Buffer.of(1), Buffer.of(9, 0, 0, 0), Buffer.concat([Buffer.alloc(4), Buffer.of(1)])])
      expect(await rejection(store.store(wrong))).toEqual(refusal('ERR_RDMC_CAST_PROTOCOL'));

    const other = newStore(temporaryDirectory());
    tell(other, origin, facts);
    const root = facts.root.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    expect(await rejection(other.begin(root, 'none'))).toEqual(refusal('ERR_RDMC_HASH_MISMATCH'));
    expect(thrown(() => other.hashes(0, ''))).toEqual(refusal('ERR_RDMC_CAST_PROTOCOL'));
    const linked = new PieceEncoder(0);
    const time = { seconds: 0, nanoseconds: 0 };
    const link = { kind: 'symbolicLink', path: Buffer.from('l'), mode: 0, time, size: 0 } as const;
    linked.add({ ...link, target: Buffer.from('/etc/passwd'), targetIndex: 0, digest: undefined });
    const { first, count, data } = linked.finish();
    expect(thrown(() => newStore(temporaryDirectory()).entries(first, count, data))).toEqual(
      refusal('ERR_RDMC_CAST_PROTOCOL'),
    );
  });

  it('writes nothing through a link in its directory', async () => {
    const outside = temporaryDirectory();
    const from = temporaryDirectory();
    write(from, 'd/file', 'contents');
    const directory = temporaryDirectory();
    symlinkSync(outside, join(directory, 'd'));
    const { origin, store } = await offered(from, directory);
    await store.store(message(origin, 0));
    const { problems } = await store.finish(undefined);
    expect(problems.map(({ path, code }) => [path, code])).toEqual([
      ['d/file', 'ERR_RDMC_UNSAFE_PATH'],
      ['d', 'ERR_RDMC_UNSAFE_PATH'],
    ]);
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe('an origin', () => {
  it('does not send a piece of a file that has changed, and knows hashes of those that have not', () => {
    const from = temporaryDirectory();
    const path = write(from, 'file', seededBytes(2 * MIB, 1));
    write(from, 'other', 'other');
    const origin = new Origin(from);
    onTestFinished(() => origin.close());
    const before = origin.survey(Buffer.alloc(0));
    expect(before).toMatchObject({ files: 2, pieces: 3, bytes: 2 * MIB + 5 });
    const target = Buffer.alloc(MIB);
    expect(origin.read(0, target)).toBeUndefined();
    write(from, 'file', seededBytes(2 * MIB, 2));
    expect(origin.read(1, target)).toMatchObject({ entry: 0, first: 0, pieces: 2 });
    expect(origin.read(2, target)).toBeUndefined();
    const after = origin.survey(Buffer.alloc(0));
    expect(after.root).not.toBe(before.root);
    expect(origin.read(1, target)).toBeUndefined();
    // The same contents and times again: the same root.
    expect(new Origin(from).survey(Buffer.alloc(0)).root).toBe(after.root);
    utimesSync(path, 1, 1);
    expect(origin.survey(Buffer.alloc(0)).root).not.toBe(after.root);
  });

  it('looks at the directory that has the name now', () => {
    const parent = temporaryDirectory();
    const from = join(parent, 'served');
    write(parent, 'served/a', 'a');
    const origin = new Origin(from);
    onTestFinished(() => origin.close());
    expect(origin.survey(Buffer.from('a')).files).toBe(1);
    renameSync(from, join(parent, 'before'));
    write(parent, 'served/b', 'b');
    expect(origin.survey(Buffer.from('b')).files).toBe(1);
    expect(thrown(() => origin.survey(Buffer.from('a')))).toEqual(refusal('ERR_RDMC_NOT_FOUND'));
  });
});
