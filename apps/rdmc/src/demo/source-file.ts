import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { MemoryRegion } from '@rdmc/group';
import { CliError, codeOf, exitCodeOf, systemReason, usageError } from '../errors.js';

const CHUNK_BYTES = 4 << 20;

/** The file that is sent. */
export interface SourceFile {
  readonly path: string;
  readonly byteLength: number;
  /** Of its last change, in nanoseconds. */
  readonly changedAt: bigint;
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
    const found = await stat(path, { bigint: true });
    if (!found.isFile()) throw usageError(`--file: ${path} is not a file`);
    if (found.size === 0n)
      throw usageError(`--file: ${path} is empty; the demonstration needs at least one byte`);
    return { path, byteLength: Number(found.size), changedAt: found.mtimeNs };
  });
}

/**
 * Its SHA-256 and its bytes are read at different times, and belong together only if it has not changed.
 * @throws CliError where the file has changed since it was found
 */
export async function expectUnchanged({ path, byteLength, changedAt }: SourceFile): Promise<void> {
  const now = await unreadable(path, () => stat(path, { bigint: true }));
  if (now.mtimeNs === changedAt && now.size === BigInt(byteLength)) return;
  throw changed(path, now.size < byteLength ? `shrank from ${byteLength} to ${now.size} bytes` : 'changed');
}

function changed(path: string, how: string): CliError {
  const advice = 'give a file that nothing writes to with --file';
  return new CliError('ERR_RDMC_FILE', `${path} ${how} while it was read`, { advice });
}

/** Writes the content of `source`, truncated or repeated to `byteLength`, to a new file in `folder`. */
export async function resized(source: SourceFile, byteLength: number, folder: string): Promise<SourceFile> {
  const path = join(folder, 'source');
  try {
    await writeRepeated(source, byteLength, path);
    return await findSource(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const code = codeOf(error) ?? 'ERR_RDMC_FILE';
    const advice = 'free some space, set TMPDIR to a larger file system, or use a smaller --size';
    throw new CliError(code, `cannot write ${path}: ${systemReason(error)}`, {
      exitCode: exitCodeOf(error),
      advice,
      cause: error,
    });
  }
}

async function writeRepeated(source: SourceFile, byteLength: number, path: string): Promise<void> {
  const content = await unreadable(source.path, () => open(source.path, 'r'));
  try {
    await writeContent(content, source, byteLength, path);
  } finally {
    await content.close();
  }
}

async function writeContent(
  content: FileHandle,
  source: SourceFile,
  byteLength: number,
  path: string,
): Promise<void> {
  const file = await open(path, 'wx');
  try {
    const unit = source.byteLength < CHUNK_BYTES ? await repeated(content, source) : undefined;
    const period = unit?.byteLength ?? source.byteLength;
    for (let offset = 0; offset < byteLength; ) {
      const start = offset % period;
      const length = Math.min(CHUNK_BYTES, period - start, byteLength - offset);
      const chunk = unit
        ? unit.subarray(start, start + length)
        : await readExactly(content, source, start, length);
      await file.writeFile(chunk);
      offset += length;
    }
  } finally {
    await file.close();
  }
}

/** Repeats a small file's content to fill a chunk, so that it does not need more writes than a large one. */
async function repeated(file: FileHandle, source: SourceFile): Promise<Uint8Array> {
  const content = await readExactly(file, source, 0, source.byteLength);
  const times = Math.floor(CHUNK_BYTES / source.byteLength);
  return Buffer.concat(new Array<Uint8Array>(times).fill(content));
}

async function readExactly(
  file: FileHandle,
  { path, byteLength }: SourceFile,
  start: number,
  length: number,
): Promise<Uint8Array> {
  const chunk = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const at = start + done;
    const { bytesRead } = await unreadable(path, () => file.read(chunk, done, length - done, at));
    if (bytesRead === 0) throw changed(path, `shrank from ${byteLength} to ${at} bytes`);
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
export async function readInto(source: SourceFile, region: MemoryRegion): Promise<void> {
  const { path, byteLength } = source;
  return unreadable(path, async () => {
    const file = await open(path, 'r');
    try {
      const length = await fill(file, region, byteLength);
      if (length < byteLength) throw changed(path, `shrank from ${byteLength} to ${length} bytes`);
      await expectUnchanged(source);
    } finally {
      await file.close();
    }
  });
}
