import { copyFileSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemoryRegion } from '@rdmc/group';
import { CliError, codeOf, messageOf, usageError } from '../errors.js';

const CHUNK_BYTES = 4 << 20;

/** The file that is sent. */
export interface SourceFile {
  readonly path: string;
  readonly sizeBytes: number;
}

async function unreadable<Result>(path: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = codeOf(error) ?? 'ERR_RDMC_FILE';
    const advice = 'give a file that exists and that you may read with --file';
    throw new CliError(code, `cannot read ${path}: ${messageOf(error)}`, { advice, cause: error });
  }
}

/** @throws CliError where it is no readable file, or empty */
export async function findSource(path: string): Promise<SourceFile> {
  return unreadable(path, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw usageError(`--file: ${path} is not a file`);
    if (found.size === 0)
      throw usageError(`--file: ${path} is empty; the demonstration needs at least one byte`);
    return { path, sizeBytes: found.size };
  });
}

/** A file of exactly `sizeBytes` bytes in `folder`: the content of `source`, cut or repeated. */
export async function resized(source: SourceFile, sizeBytes: number, folder: string): Promise<SourceFile> {
  const path = join(folder, 'source');
  copyFileSync(source.path, path);
  const file = await open(path, 'r+');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let length = source.sizeBytes; length < sizeBytes; ) {
      // The file so far repeats the source, so what lies a multiple of its length back comes next.
      const back = length - (length % source.sizeBytes);
      const wanted = Math.min(CHUNK_BYTES, back, sizeBytes - length);
      const { bytesRead } = await file.read(chunk, 0, wanted, length - back);
      await file.write(chunk, 0, bytesRead, length);
      length += bytesRead;
    }
    await file.truncate(sizeBytes);
  } finally {
    await file.close();
  }
  return { path, sizeBytes };
}

async function fill(file: FileHandle, region: MemoryRegion, sizeBytes: number): Promise<number> {
  let offset = 0;
  while (offset < sizeBytes) {
    const view = region.view(offset, Math.min(CHUNK_BYTES, sizeBytes - offset));
    const { bytesRead } = await file.read(view, 0, view.byteLength, offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return offset;
}

/** Reads the file straight into the memory it is sent from. */
export async function readInto({ path, sizeBytes }: SourceFile, region: MemoryRegion): Promise<void> {
  return unreadable(path, async () => {
    const file = await open(path, 'r');
    try {
      const length = await fill(file, region, sizeBytes);
      if (length === sizeBytes) return;
      throw new CliError(
        'ERR_RDMC_FILE',
        `${path} shrank from ${sizeBytes} to ${length} bytes while it was read`,
      );
    } finally {
      await file.close();
    }
  });
}
