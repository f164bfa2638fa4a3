import { fdatasync, fsync } from 'node:fs';
import { promisify } from 'node:util';

/** Syncs files and directories to disk, in threads of libuv. Rejects with errors of the system. */
export interface SyncPort {
  /** Syncs a file: its bytes, size, mode and times. */
  file(descriptor: number): Promise<void>;
  /** Syncs the bytes of a file that is still written to. */
  data(descriptor: number): Promise<void>;
  /** Syncs a directory: its entries, mode and times. */
  directory(descriptor: number): Promise<void>;
}

const fsyncAsync = promisify(fsync);

export const systemSync: SyncPort = {
  file: fsyncAsync,
  data: promisify(fdatasync),
  directory: fsyncAsync,
};
