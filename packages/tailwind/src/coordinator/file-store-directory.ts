import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeDirectories } from '@rdmc/common';

/** Creates a directory and its missing parents; resolves when all their names are on the disk. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await makeDirectories(path);
  if (first === undefined) return;
  // A new name is an entry of its parent: syncs from the innermost directory up to the one that existed before.
  const last = dirname(resolve(first));
  for (let parent = dirname(resolve(path)); ; parent = dirname(parent)) {
    await syncDirectory(parent);
    if (parent === last) return;
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
