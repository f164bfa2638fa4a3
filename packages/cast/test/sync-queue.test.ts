import { expect, it } from 'vitest';
import { EARLY_SYNC_BYTES, MAX_UNSYNCED_BYTES } from '../src/constants.js';
import type { FileSink } from '../src/writer/file-sink.js';
import { SyncQueue } from '../src/writer/sync-queue.js';

/** A large incomplete file whose syncs end when the test resolves them. */
class LargeFile {
  unsyncedBytes = 0;
  isSyncing = false;
  end: () => void = () => {};
  fail: () => void = () => {};

  startSync(): Promise<void> {
    this.unsyncedBytes = 0;
    this.isSyncing = true;
    return new Promise((resolve) => {
      this.end = () => {
        this.isSyncing = false;
        resolve();
      };
      // A failed sync stays set, as in FileSink.
      this.fail = resolve;
    });
  }
}

function queueWith(file: LargeFile) {
  const done = async (): Promise<void> => {};
  const queue = new SyncQueue({ file: done, data: done, directory: done }, () => {});
  const write = (bytes: number): void => {
    file.unsyncedBytes += bytes;
    queue.written(file as unknown as FileSink);
  };
  return { queue, write };
}

it.each(['end', 'fail'] as const)(
  'a file far ahead of the disk waits for it, until its sync %ss',
  async (how) => {
    const file = new LargeFile();
    const { queue, write } = queueWith(file);
    write(EARLY_SYNC_BYTES);
    write(MAX_UNSYNCED_BYTES - 1);
    expect(queue.isFull).toBe(false);
    write(1);
    expect(queue.isFull).toBe(true);
    const room = queue.room();
    file[how]();
    await room;
    expect(queue.isFull).toBe(false);
  },
);
