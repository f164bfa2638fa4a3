import { rmdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MemoryRegion } from '@rdmc/group';

const CHUNK_BYTES = 4 << 20;

/** Writes everything, also where the system takes less at a time. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.byteLength) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done);
    done += bytesWritten;
  }
}

/** Writes the first `sizeBytes` of a region to a new file. */
export async function storeRegion(
  region: MemoryRegion,
  sizeBytes: number,
  path: string,
  onWritten: (bytesWritten: number) => void,
): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (let offset = 0; offset < sizeBytes; offset += CHUNK_BYTES) {
      const length = Math.min(CHUNK_BYTES, sizeBytes - offset);
      await writeAll(file, region.view(offset, length));
      onWritten(offset + length);
    }
  } finally {
    await file.close();
  }
}

/** Removes a file whose parent process can no longer do so, and its folder once that is empty. */
export function discard(path: string): void {
  rmSync(path, { force: true });
  try {
    rmdirSync(dirname(path));
  } catch {
    // The other members' files are still in it; the last one to go removes it.
  }
}
