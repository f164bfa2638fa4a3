import { statfsSync } from 'node:fs';

/** Kinds of file systems that keep everything in memory, by the numbers of statfs(2). */
const IN_MEMORY: ReadonlySet<number> = new Set([0x0102_1994 /* tmpfs */, 0x8584_58f6 /* ramfs */]);

/** Whether the file system of a directory has no disk: syncing a file of it does nothing. False where that is not known. */
export function isInMemory(directory: string): boolean {
  try {
    return IN_MEMORY.has(statfsSync(directory).type);
  } catch {
    // Opening the directory reports it.
    return false;
  }
}
