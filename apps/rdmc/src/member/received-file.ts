import { rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { RdmcError } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/group';
import { codeOf, systemReason } from '../errors.js';

const CHUNK_BYTES = 4 << 20;

/** Writes everything, also where the system writes less per call. */
async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.byteLength) {
    const { bytesWritten } = await file.write(bytes, done, bytes.byteLength - done);
    done += bytesWritten;
  }
}

/** A received file could not be written; `code` is the system's. */
export class StoreError extends RdmcError {
  override readonly name = 'StoreError';
}

/**
 * Writes the first `byteLength` of a region to a new file.
 * @throws StoreError
 */
export async function storeRegion(
  region: MemoryRegion,
  byteLength: number,
  path: string,
  onWritten: (bytesWritten: number) => void,
): Promise<void> {
  try {
    await writeRegion(region, byteLength, path, onWritten);
  } catch (error) {
    throw new StoreError(codeOf(error) ?? 'ERR_RDMC_FILE', `cannot write ${path}: ${systemReason(error)}`, {
      cause: error,
    });
  }
}

async function writeRegion(
  region: MemoryRegion,
  byteLength: number,
  path: string,
  onWritten: (bytesWritten: number) => void,
): Promise<void> {
  const file = await open(path, 'wx');
  try {
    for (let offset = 0; offset < byteLength; offset += CHUNK_BYTES) {
      const length = Math.min(CHUNK_BYTES, byteLength - offset);
      await writeAll(file, region.view(offset, length));
      onWritten(offset + length);
    }
  } finally {
    await file.close();
  }
}

/** Attempts to remove a folder that others remove, or write to, at the same time. */
const ATTEMPTS = 100;

/** Removes the folder of a parent process that has ended. The other members do the same, perhaps at the same time. */
export function discard(folder: string): void {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch {
      // Another member has removed a part of it, or has added a file.
    }
  }
}
