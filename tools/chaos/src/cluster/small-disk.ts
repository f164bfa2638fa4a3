import { execFile } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PIECE = Buffer.alloc(64 * 1024, 1);

/** Mounts a small file system at a directory. Needs root. Returns the function that unmounts it. */
export async function smallDisk(directory: string, size = '16m'): Promise<() => Promise<void>> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
  return async () => {
    await run('umount', ['-l', directory]);
  };
}

/** Fills the disk completely. Returns the function that frees the space again. */
export async function fillDisk(directory: string): Promise<() => Promise<void>> {
  const path = join(directory, 'filler');
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(PIECE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
  return () => rm(path);
}
