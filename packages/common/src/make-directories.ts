import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { codeOf } from './thrown.js';

/**
 * Creates a directory and its missing parents. Resolves with the outermost directory that was made; undefined: it existed. `mkdir` of
 * Node.js with `recursive` never ends below a directory in which the system creates nothing and says ENOENT, such as `/proc`.
 * @throws errors of the file system
 */
export async function makeDirectories(path: string): Promise<string | undefined> {
  const error = await errorOfMaking(path);
  if (error === undefined) return path;
  if (codeOf(error) !== 'ENOENT') return existing(path, error);
  const parent = dirname(path);
  if (parent === path) throw error;
  const first = await makeDirectories(parent);
  const second = await errorOfMaking(path);
  if (second !== undefined) await existing(path, second);
  return first ?? path;
}

/**
 * As `makeDirectories`. When this resolves, the names of the directories that were made are on the disk: without that, a loss of power
 * takes files with them that were synced.
 * @param sync of a directory
 */
export async function makeDurableDirectories(
  path: string,
  sync: (path: string) => Promise<void> = syncDirectory,
): Promise<void> {
  const first = await makeDirectories(path);
  if (first === undefined) return;
  // A new name is an entry of its parent: syncs from the innermost directory up to the one that existed before.
  const last = dirname(resolve(first));
  for (let parent = dirname(resolve(path)); ; parent = dirname(parent)) {
    await sync(parent);
    if (parent === last) return;
  }
}

/** Resolves when the names in a directory are on the disk. @throws errors of the file system */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function errorOfMaking(path: string): Promise<unknown> {
  try {
    await mkdir(path);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The system refused a directory: perhaps it exists, or another process has made it meanwhile. */
async function existing(path: string, error: unknown): Promise<undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) throw error;
}
