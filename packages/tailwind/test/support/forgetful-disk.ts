/**
 * Simulates a loss of power for a directory: each file keeps the bytes of its last `sync`, each directory the names of
 * its last one. Nothing else is certain, so nothing else is kept.
 *
 * A test file mocks `node:fs/promises` with `watched`: its operations are real, and recorded here. It also mocks `@rdmc/common`, which
 * would use the file system that is not watched.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type * as Common from '@rdmc/common';
import { temporaryDirectory } from '@rdmc/testing';

type FileSystem = typeof import('node:fs/promises');
/** Numbers of inodes: names change. */
type Names = ReadonlyMap<string, number>;

const contents = new Map<number, Buffer>();
const directories = new Map<number, Names>();
const listeners = new Set<() => void>();
/** Files that were renamed before all of their bytes were on the disk. */
export const renamedEarly: string[] = [];

function namesIn(path: string): Names {
  return new Map(readdirSync(path).map((name) => [name, statSync(join(path, name)).ino]));
}

function note(handle: FileHandle): void {
  const path = `/proc/self/fd/${handle.fd}`;
  const stat = statSync(path);
  if (stat.isDirectory()) directories.set(stat.ino, namesIn(readlinkSync(path)));
  else contents.set(stat.ino, readFileSync(path));
}

/** Limit of the bytes that each `writev` writes, without an error, like a disk that is nearly full. */
export const shortWrites = { most: Number.POSITIVE_INFINITY };

function watchHandle(handle: FileHandle): FileHandle {
  const writev = handle.writev.bind(handle);
  handle.writev = ((buffers: Uint8Array[], ...rest: []) => {
    if (shortWrites.most === Number.POSITIVE_INFINITY) return writev(buffers, ...rest);
    return writev([Buffer.concat(buffers).subarray(0, shortWrites.most)], ...rest);
  }) as FileHandle['writev'];
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    for (const listener of listeners) listener();
    note(handle);
    await sync();
  };
  return handle;
}

/** A file system whose syncs and renames are recorded. */
export function watched(real: FileSystem): FileSystem {
  return {
    ...real,
    open: async (...args) => watchHandle(await real.open(...args)),
    rename: async (from, to) => {
      const synced = contents.get(statSync(from).ino);
      if (!synced?.equals(readFileSync(from))) renamedEarly.push(String(to));
      for (const listener of listeners) listener();
      await real.rename(from, to);
      for (const listener of listeners) listener();
    },
  };
}

/** @rdmc/common as it is, but for the file system in which it syncs directories. */
export function watchedDirectories(real: typeof Common, { open }: Pick<FileSystem, 'open'>): typeof Common {
  const syncDirectory = async (path: string): Promise<void> => {
    const directory = await open(path, 'r');
    await directory.sync();
    await directory.close();
  };
  const makeDurableDirectories: typeof Common.makeDurableDirectories = (path, sync = syncDirectory) =>
    real.makeDurableDirectories(path, sync);
  return { ...real, syncDirectory, makeDurableDirectories };
}

/** After a loss of power, a lock belongs to a process that does not exist any more; here it belongs to this process. */
const LOCK = '.lock.';

/** Calls the listener whenever the result of a loss of power may change, until the returned function is called. */
export function atEveryStep(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Creates another directory with the state of this one after a loss of power. It is removed at the end of the test. The
 * name of this directory itself is on the disk.
 * @param early includes all names that the kernel may have written before a sync
 */
export function afterPowerLoss(directory: string, early = false): string {
  const image = temporaryDirectory('tailwind-power');
  copy(directory, image, early);
  return image;
}

function copy(from: string, to: string, early: boolean): void {
  const names = early ? namesIn(from) : (directories.get(statSync(from).ino) ?? new Map<string, number>());
  const current = new Map([...namesIn(from)].map(([name, inode]) => [inode, name]));
  for (const [name, inode] of names) {
    if (name.includes(LOCK)) continue;
    const now = current.get(inode);
    if (now !== undefined && statSync(join(from, now)).isDirectory()) {
      mkdirSync(join(to, name));
      copy(join(from, now), join(to, name), early);
    } else writeFileSync(join(to, name), contents.get(inode) ?? '');
  }
}
