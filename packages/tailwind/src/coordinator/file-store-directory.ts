import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Makes a directory with those above it that are missing; resolves when all their names are on the disk. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  // Each new name is in its parent: from the innermost up to the one that was there before.
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
