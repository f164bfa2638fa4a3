import { open } from 'node:fs/promises';
import { makeDurableDirectories } from '@rdmc/common';

/** Creates a directory and its missing parents; resolves when all their names are on the disk. */
export function makeDirectory(path: string): Promise<void> {
  return makeDurableDirectories(path, syncDirectory);
}

/** As that of @rdmc/common: the tests of this package replace the file system of this file. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
