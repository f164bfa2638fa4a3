/** Syncs that fail while a fetch is in progress: the system reports such an error once, and later syncs succeed. */

import fs, { readlinkSync, truncateSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { Deferred } from '@rdmc/common';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { EARLY_SYNC_BYTES, MAX_OPEN_PULL_FILES, MIB } from '../src/constants.js';
import type { PieceStore } from '../src/pull/piece-store.js';
import { type SyncPort, systemSync } from '../src/writer/sync-port.js';
import { visible } from './support/receivers.js';
import { message, offered } from './support/stored-pieces.js';
import { expectSameTree, write } from './support/tree.js';

const PIECES_BEFORE_SYNC = EARLY_SYNC_BYTES / MIB;
const error = Object.assign(new Error('EIO: injected'), { code: 'EIO' });
const lost = { path: 'file', code: 'ERR_RDMC_WRITE_FAILED', message: expect.stringContaining('(EIO)') };

/** A file of zeros, which takes no time to make. */
function sparse(from: string, name: string, size: number): void {
  truncateSync(write(from, name, ''), size);
}

/** A directory with a file that is synced early, once, before its last pieces arrive. */
function largeFile(): string {
  const from = temporaryDirectory();
  sparse(from, 'file', EARLY_SYNC_BYTES + 2 * MIB);
  return from;
}

type Origin = Awaited<ReturnType<typeof offered>>['origin'];

async function storePieces(store: PieceStore, origin: Origin, first: number, count: number): Promise<void> {
  for (let piece = first; piece < first + count; piece += 1) await store.store(message(origin, piece));
}

/** A disk whose first sync of data ends as `first` does. */
function failing(first: () => Promise<void>): SyncPort {
  let calls = 0;
  return { ...systemSync, data: () => (calls++ === 0 ? first() : Promise.resolve()) };
}

it('an early sync fails: the file does not get its name, although its last sync succeeds', async () => {
  const sync = failing(() => Promise.reject(error));
  const { origin, facts, store, directory } = await offered(largeFile(), undefined, { sync });
  await storePieces(store, origin, 0, facts.pieces);
  expect(await store.finish()).toMatchObject({ files: 0, problems: [lost] });
  expect(visible(directory)).toEqual([]);
});

it('an early sync fails when all pieces are there: it is waited for', async () => {
  const early = new Deferred<void>();
  const { origin, facts, store, directory } = await offered(largeFile(), undefined, {
    sync: failing(() => early.promise),
  });
  await storePieces(store, origin, 0, facts.pieces);
  const finished = store.finish();
  early.reject(error);
  expect(await finished).toMatchObject({ files: 0, problems: [lost] });
  expect(visible(directory)).toEqual([]);
});

it.each(['before', 'after'])(
  'an early sync fails, and the fetch ends %s that: a later fetch gets all again',
  async (when) => {
    const from = largeFile();
    const early = new Deferred<void>();
    const { origin, facts, store, directory } = await offered(from, undefined, {
      sync: failing(() => early.promise),
    });
    await storePieces(store, origin, 0, PIECES_BEFORE_SYNC);
    const fails = (): void => early.reject(error);
    if (when === 'after') fails();
    // These are not synced yet.
    await storePieces(store, origin, PIECES_BEFORE_SYNC, 1);
    const closed = store.close();
    if (when === 'before') fails();
    await closed;
    expect((await offered(from, directory)).lackingBytes).toBe(facts.bytes);
  },
);

/** More files than stay open, of two pieces each, the first one `file`, and a store that is told of them. */
async function manyFiles(sync: SyncPort, size: number) {
  const from = temporaryDirectory();
  sparse(from, 'file', size);
  for (let number = 0; number < MAX_OPEN_PULL_FILES; number += 1) sparse(from, `other${number}`, MIB + 1);
  const { origin, facts, store, directory } = await offered(from, undefined, { sync });
  const { files } = origin.map;
  /** Stores the last piece of each of these files. */
  const storeLast = async (some: typeof files): Promise<void> => {
    for (const { first, pieces } of some) await storePieces(store, origin, first + pieces - 1, 1);
  };
  const storeRest = (): Promise<void> => storePieces(store, origin, 0, facts.pieces);
  return { from, directory, origin, store, files, storeLast, storeRest };
}

it('the sync in front of closing a file fails: opened again, it does not get its name, and the others do', async () => {
  const { store, directory, files, storeLast, storeRest } = await manyFiles(systemSync, MIB + 1);
  const sync = vi.spyOn(fs, 'fdatasyncSync').mockImplementationOnce(() => {
    throw error;
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    sync.mockRestore();
    syncBuiltinESMExports();
  });
  await storeLast(files);
  expect(sync).toHaveBeenCalled();
  await storeRest();
  expect(await store.finish()).toMatchObject({ files: files.length - 1, problems: [lost] });
  expect(visible(directory)).toHaveLength(files.length - 1);
});

it('a file whose sync runs stays open: its descriptor is not that of another file meanwhile', async () => {
  const early = new Deferred<void>();
  let descriptor = 0;
  const data = (given: number): Promise<void> => {
    descriptor = given;
    return early.promise;
  };
  const many = await manyFiles({ ...systemSync, data }, EARLY_SYNC_BYTES + MIB);
  onTestFinished(() => early.resolve());
  await storePieces(many.store, many.origin, 0, PIECES_BEFORE_SYNC);
  const synced = pathOf(descriptor);
  await many.storeLast(many.files.slice(1));
  expect(pathOf(descriptor)).toBe(synced);
  early.resolve();
  await many.storeRest();
  expect(await many.store.finish()).toMatchObject({ files: many.files.length, problemCount: 0 });
  expectSameTree(many.directory, many.from);
});

function pathOf(descriptor: number): string {
  return readlinkSync(`/proc/self/fd/${descriptor}`);
}
