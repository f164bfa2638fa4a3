import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemoryRegion } from '@rdmc/group';
import { CliError, codeOf, exitCodeOf, systemReason, usageError } from '../errors.js';

const CHUNK_BYTES = 4 << 20;

/** The file that is sent. */
export interface SourceFile {
  readonly path: string;
  readonly byteLength: number;
}

async function unreadable<Result>(path: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = codeOf(error) ?? 'ERR_RDMC_FILE';
    const advice = 'give a file that exists and that you may read with --file';
    throw new CliError(code, `cannot read ${path}: ${systemReason(error)}`, { advice, cause: error });
  }
}

/** @throws CliError where it is not a readable file, or is empty */
export async function findSource(path: string): Promise<SourceFile> {
  return unreadable(path, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw usageError(`--file: ${path} is not a file`);
    if (found.size === 0)
      throw usageError(`--file: ${path} is empty; the demonstration needs at least one byte`);
    return { path, byteLength: found.size };
  });
}

/** Writes the content of `source`, truncated or repeated to `byteLength`, to a new file in `folder`. */
export async function resized(source: SourceFile, byteLength: number, folder: string): Promise<SourceFile> {
  const path = join(folder, 'source');
  try {
    await writeRepeated(source, byteLength, path);
  } catch (error) {
    const code = codeOf(error) ?? 'ERR_RDMC_FILE';
    const advice = 'free some space, set TMPDIR to a larger file system, or use a smaller --size';
    throw new CliError(code, `cannot write ${path}: ${systemReason(error)}`, {
      exitCode: exitCodeOf(error),
      advice,
      cause: error,
    });
  }
  return { path, byteLength };
}

async function writeRepeated(source: SourceFile, byteLength: number, path: string): Promise<void> {
  const content = await open(source.path, 'r');
  const file = await open(path, 'wx');
  try {
    const unit = source.byteLength < CHUNK_BYTES ? await repeated(content, source.byteLength) : undefined;
    const period = unit?.byteLength ?? source.byteLength;
    for (let offset = 0; offset < byteLength; ) {
      const start = offset % period;
      const length = Math.min(CHUNK_BYTES, period - start, byteLength - offset);
      const chunk = unit ? unit.subarray(start, start + length) : await readExactly(content, start, length);
      await file.writeFile(chunk);
      offset += length;
    }
  } finally {
    await file.close();
    await content.close();
  }
}

/** Repeats a small file's content to fill a chunk, so that it does not need more writes than a large one. */
async function repeated(file: FileHandle, fileBytes: number): Promise<Uint8Array> {
  const content = await readExactly(file, 0, fileBytes);
  const times = Math.floor(CHUNK_BYTES / fileBytes);
  return Buffer.concat(new Array<Uint8Array>(times).fill(content));
}

async function readExactly(file: FileHandle, start: number, length: number): Promise<Uint8Array> {
  const chunk = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(chunk, done, length - done, start + done);
    if (bytesRead === 0) throw new CliError('ERR_RDMC_FILE', 'the file shrank while it was read');
    done += bytesRead;
  }
  return chunk;
}

async function fill(file: FileHandle, region: MemoryRegion, byteLength: number): Promise<number> {
  let offset = 0;
  while (offset < byteLength) {
    const view = region.view(offset, Math.min(CHUNK_BYTES, byteLength - offset));
    const { bytesRead } = await file.read(view, 0, view.byteLength, offset);
    if (bytesRead === 0) break;
    offset += bytesRead;
  }
  return offset;
}

/** Reads the file directly into the memory that is sent. */
export async function readInto({ path, byteLength }: SourceFile, region: MemoryRegion): Promise<void> {
  return unreadable(path, async () => {
    const file = await open(path, 'r');
    try {
      const length = await fill(file, region, byteLength);
      if (length === byteLength) return;
      throw new CliError(
        'ERR_RDMC_FILE',
        `${path} shrank from ${byteLength} to ${length} bytes while it was read`,
      );
    } finally {
      await file.close();
    }
  });
}
