import { fdatasync, fsync } from 'node:fs';
import { promisify } from 'node:util';

/** How things get from the kernel's memory to the disk. Threads of libuv do it. Rejects with errors of the system. */
export interface SyncPort {
  /** A whole file: its bytes, size, mode and times. */
  file(descriptor: number): Promise<void>;
  /** What has been written to a file that goes on. */
  data(descriptor: number): Promise<void>;
  /** A directory: the names in it, its mode and times. */
  directory(descriptor: number): Promise<void>;
}

const fsyncAsync = promisify(fsync);

export const systemSync: SyncPort = {
  file: fsyncAsync,
  data: promisify(fdatasync),
  directory: fsyncAsync,
};
