import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { castFiles, receiveFiles } from '@rdmc/cast';
import { refusal, rejection, rounds, temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIB } from '../src/constants.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import { Origin } from '../src/pull/origin.js';
import { NUMBER_BYTES } from '../src/pull/piece-message.js';
import { ServedTree } from '../src/pull/served-tree.js';
import { type SyncPort, systemSync } from '../src/writer/sync-port.js';
import { leftovers, visible } from './support/receivers.js';
import { message, newStore, offered, tell } from './support/stored-pieces.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

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
      expect(await store.finish()).toMatchObject({
        files: 6,
        receivedBytes: facts.bytes,
        problemCount: 0,
      });
      // The server is told now: nothing else may be left.
      expect(readdirSync(directory).filter((name) => name.startsWith('.rdmc-cast-'))).toEqual([]);
      await store.close();
      expectSameTree(directory, from);
    });
  });

  it('gives no file its name before all of its pieces are there, and does not end without them', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(2 * MIB, 1));
    const { origin, store, directory } = await offered(from);
    await store.store(message(origin, 1));
    expect(visible(directory)).toEqual([]);
    expect(await rejection(store.finish())).toEqual(refusal('ERR_RDMC_CAST_PROTOCOL'));
    await store.close();
    expect(visible(directory)).toEqual([]);
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

  it('makes no hard link to an older form of a file that the sender does not send any more', async () => {
    for (const older of ['old', undefined]) {
      const from = temporaryDirectory();
      write(from, 'file', seededBytes(2 * MIB, 1));
      linkSync(join(from, 'file'), join(from, 'linked'));
      const directory = temporaryDirectory();
      if (older !== undefined) write(directory, 'file', older);
      const { origin, store } = await offered(from, directory, { isCast: true });
      await store.store(message(origin, 0));
      store.withdraw([0], 'ERR_RDMC_FILE_CHANGED', 'it changed');
      store.withdraw([0], 'ERR_RDMC_FILE_CHANGED', 'it changed');
      const { problems, links } = await store.finish();
      expect(problems.map(({ path, code }) => [path, code])).toEqual([
        ['file', 'ERR_RDMC_FILE_CHANGED'],
        ['linked', 'ERR_RDMC_LINK_TARGET_MISSING'],
      ]);
      expect([links, readdirSync(directory)]).toEqual([0, older === undefined ? [] : ['file']]);
    }
  });

  it('writes nothing through a link in its directory', async () => {
    const outside = temporaryDirectory();
    const from = temporaryDirectory();
    write(from, 'd/file', 'contents');
    const directory = temporaryDirectory();
    symlinkSync(outside, join(directory, 'd'));
    const { origin, store } = await offered(from, directory);
    await store.store(message(origin, 0));
    const { problems } = await store.finish();
    expect(problems.map(({ path, code }) => [path, code])).toEqual([
      ['d/file', 'ERR_RDMC_UNSAFE_PATH'],
      ['d', 'ERR_RDMC_UNSAFE_PATH'],
    ]);
    expect(readdirSync(outside)).toEqual([]);
  });
});

describe('a fetch that ends early', () => {
  /** A fetch of two files in a new directory: one has arrived, and all of the other but its last byte. */
  async function interrupted(options: Parameters<typeof offered>[2] = {}) {
    const from = temporaryDirectory();
    write(from, 'd/deep/first', seededBytes(MIB, 1));
    write(from, 'd/second', seededBytes(MIB + 1, 2));
    const { origin, store, directory } = await offered(from, temporaryDirectory(), options);
    await store.store(message(origin, 0));
    await store.store(message(origin, 1));
    await store.close();
    return { from, directory };
  }

  it('shows nothing of a new directory, and a later one takes its complete files', async () => {
    for (const sync of [undefined, systemSync]) {
      const { from, directory } = await interrupted({ sync });
      expect([namesIn(directory).filter((name) => name === 'd'), leftovers(directory).length]).toEqual([
        [],
        1,
      ]);
      const { origin, store, lackingBytes } = await offered(from, directory, { sync });
      expect(lackingBytes).toBe(1);
      await store.store(message(origin, 2));
      const report = await store.finish();
      expect(report).toMatchObject({ files: 1, unchangedFiles: 1, problemCount: 0, resumedBytes: 2 * MIB });
      await store.close();
      expectSameTree(directory, from);
      expect(leftovers(directory)).toEqual([]);
    }
  });

  it('as often as it happens: what an earlier one has left is not lost', async () => {
    const { from, directory } = await interrupted();
    const again = await offered(from, directory);
    await again.store.close();
    expect((await offered(from, directory)).lackingBytes).toBe(1);
  });

  it('a later one does not take what has changed since, nor what was not synced before the host started again', async () => {
    const changed = await interrupted();
    write(changed.from, 'd/deep/first', seededBytes(MIB, 3));
    expect((await offered(changed.from, changed.directory)).lackingBytes).toBe(MIB + 1);
    for (const [sync, lacking] of [
      [undefined, 2 * MIB + 1],
      [systemSync, 1],
    ] as const) {
      const { from, directory } = await interrupted({ sync });
      const boot = join(directory, leftovers(directory)[0]!, 'boot');
      expect(existsSync(boot)).toBe(sync === undefined);
      if (sync === undefined) writeFileSync(boot, 'another');
      expect((await offered(from, directory)).lackingBytes).toBe(lacking);
    }
  });

  it('leaves nothing where nothing is compared; leftovers of seven days go', async () => {
    expect(readdirSync((await interrupted({ compare: 'none' })).directory)).toEqual([]);
    const { from, directory } = await interrupted();
    utimesSync(join(directory, leftovers(directory)[0]!), 1, 1);
    expect((await offered(from, directory)).lackingBytes).toBe(2 * MIB + 1);
    expect(leftovers(directory)).toEqual([]);
  });

  it('keeps what it has where a link is in the way of another directory', async () => {
    const from = temporaryDirectory();
    write(from, 'a/file', 'contents');
    write(from, 'b/file', 'other contents');
    const directory = temporaryDirectory();
    symlinkSync(temporaryDirectory(), join(directory, 'a'));
    const { origin, store } = await offered(from, directory);
    await store.store(message(origin, 1));
    await store.close();
    expect((await offered(from, directory)).lackingBytes).toBe('contents'.length);
  });
});

describe('an incomplete file', () => {
  /** Stores pieces of the only file, and ends early. */
  async function interrupted(from: string, pieces: readonly number[], sync?: SyncPort) {
    const { origin, store, directory } = await offered(from, undefined, { sync });
    for (const piece of pieces) await store.store(message(origin, piece));
    await store.close();
    expect(visible(directory)).toEqual([]);
    return directory;
  }

  it('is continued: each piece comes once, in whatever order, however often it is interrupted', async () => {
    await rounds(2, async (random, seed) => {
      const from = temporaryDirectory();
      write(from, 'file', seededBytes(7 * MIB + 5, seed));
      const directory = temporaryDirectory();
      let before = 0;
      for (let lacking = [0, 1, 2, 3, 4, 5, 6, 7]; lacking.length > 0; ) {
        const { origin, store, bits } = await offered(from, directory, { sync: systemSync });
        expect(lacking.filter((piece) => (bits[0]! >> piece) & 1)).toEqual([]);
        for (let count = random.below(4); count > 0 && lacking.length > 0; count -= 1) {
          const piece = lacking.splice(random.below(lacking.length), 1)[0]!;
          before += origin.map.bytesOf(piece);
          await store.store(message(origin, piece));
        }
        if (lacking.length > 0) await store.close();
        else {
          const { receivedBytes, resumedBytes, files } = await store.finish();
          expect([files, receivedBytes + resumedBytes]).toEqual([1, before]);
          await store.close();
        }
      }
      expectSameTree(directory, from);
      expect(readdirSync(directory)).toEqual(['file']);
    });
  });

  it('counts only where pieces are as the server says: one that was altered comes again', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(4 * MIB, 1), 0o640);
    const directory = await interrupted(from, [0, 2, 3]);
    const [kept] = leftovers(directory);
    const part = readdirSync(join(directory, kept!)).find((name) => name.startsWith('part-'))!;
    const path = join(directory, kept!, part);
    const altered = readFileSync(path);
    altered[2 * MIB + 9]! ^= 1;
    // It has also become longer.
    writeFileSync(path, Buffer.concat([altered, Buffer.alloc(9)]));
    const { origin, store, bits, lackingBytes } = await offered(from, directory);
    expect([bits[0], lackingBytes]).toEqual([0b1001, 2 * MIB]);
    for (const piece of [1, 2]) await store.store(message(origin, piece));
    expect(await store.finish()).toMatchObject({ resumedBytes: 2 * MIB, receivedBytes: 2 * MIB });
    await store.close();
    expectSameTree(directory, from);
  });

  it('is not continued where the file at the server has changed', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(3 * MIB, 1));
    const directory = await interrupted(from, [0, 1]);
    write(from, 'file', seededBytes(3 * MIB, 2));
    utimesSync(join(from, 'file'), 1_500_000_000, 1_500_000_000);
    const { bits, lackingBytes } = await offered(from, directory);
    expect([bits[0], lackingBytes]).toEqual([0, 3 * MIB]);
  });

  it('is continued by a cast, too', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(4 * MIB, 1));
    const directory = await interrupted(from, [0, 1, 2], systemSync);
    const receiver = await receiveFiles({ directory, port: 0, device: 'soft' });
    onTestFinished(() => receiver.close());
    const cast = castFiles([join(from, 'file')], { to: [receiver.address], device: 'soft' });
    const { receivers, transferredBytes } = await cast.finished;
    expect(receivers).toMatchObject([{ state: 'complete', resumedBytes: 3 * MIB }]);
    expect(transferredBytes).toBe(MIB);
    expectSameTree(directory, from);
  });

  it('is removed by a fetch that compares nothing', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(2 * MIB, 1));
    const { origin, store, directory } = await offered(from, undefined, { compare: 'none' });
    await store.store(message(origin, 0));
    await store.close();
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('an origin', () => {
  it('lists no temporary files of receivers and fetchers, at any depth, and does not serve them', () => {
    const from = temporaryDirectory();
    for (const name of ['.rdmc-cast-kept-1/tree/a', 'd/.rdmc-cast-2/part-1', 'd/e/.rdmc-cast-kept-3/tree/a'])
      write(from, name);
    write(from, 'd/e/file');
    const origin = new Origin();
    onTestFinished(() => origin.close());
    for (const [name, entries] of [
      ['', 3],
      ['d', 3],
      ['d/e', 2],
    ] as const)
      expect(origin.survey(ServedTree.open(from, Buffer.from(name)))).toMatchObject({
        entries,
        files: 1,
        skipped: 0,
      });
    for (const name of ['d/.rdmc-cast-2', 'd/.rdmc-cast-2/part-1', 'd/e/.rdmc-cast-kept-3/tree/a'])
      expect(thrown(() => origin.survey(ServedTree.open(from, Buffer.from(name))))).toEqual(
        refusal('ERR_RDMC_NOT_FOUND'),
      );
  });

  it('does not send a piece of a file that has changed, and knows hashes of those that have not', () => {
    const from = temporaryDirectory();
    const path = write(from, 'file', seededBytes(2 * MIB, 1));
    write(from, 'other', 'other');
    const origin = new Origin();
    onTestFinished(() => origin.close());
    const before = origin.survey(ServedTree.open(from, Buffer.alloc(0)));
    expect(before).toMatchObject({ files: 2, pieces: 3, bytes: 2 * MIB + 5 });
    const target = Buffer.alloc(MIB);
    expect(origin.read(0, target)).toBeUndefined();
    write(from, 'file', seededBytes(2 * MIB, 2));
    expect(origin.read(1, target)).toMatchObject({ entry: 0, first: 0, pieces: 2 });
    expect(origin.read(2, target)).toBeUndefined();
    const after = origin.survey(ServedTree.open(from, Buffer.alloc(0)));
    expect(after.root).not.toBe(before.root);
    expect(origin.read(1, target)).toBeUndefined();
    // The same contents and times again: the same root.
    expect(new Origin().survey(ServedTree.open(from, Buffer.alloc(0))).root).toBe(after.root);
    utimesSync(path, 1, 1);
    expect(origin.survey(ServedTree.open(from, Buffer.alloc(0))).root).not.toBe(after.root);
  });

  it('looks at the directory that has the name now', () => {
    const parent = temporaryDirectory();
    const from = join(parent, 'served');
    write(parent, 'served/a', 'a');
    const origin = new Origin();
    onTestFinished(() => origin.close());
    expect(origin.survey(ServedTree.open(from, Buffer.from('a'))).files).toBe(1);
    renameSync(from, join(parent, 'before'));
    write(parent, 'served/b', 'b');
    expect(origin.survey(ServedTree.open(from, Buffer.from('b'))).files).toBe(1);
    expect(thrown(() => origin.survey(ServedTree.open(from, Buffer.from('a'))))).toEqual(
      refusal('ERR_RDMC_NOT_FOUND'),
    );
  });
});
