import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { fileError, usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';

const STANDARD_INPUT = '-';
const MOST_BYTES = 1024 ** 3;

async function readAll(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const iterator = stream.iterator({ destroyOnReturn: true });
  const stop = (): void => void stream.destroy(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of iterator) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > MOST_BYTES) throw usageError('the list of paths is longer than 1 GiB');
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return Buffer.concat(chunks);
}

/**
 * The paths of a list: one per line, or ended by zero bytes. In a list of lines, empty lines and those that begin with
 * `#` or `;` are comments.
 */
export function pathsIn(list: Buffer, byZeros: boolean): Buffer[] {
  const paths: Buffer[] = [];
  const separator = byZeros ? 0 : 0x0a;
  for (let start = 0; start < list.length; ) {
    const found = list.indexOf(separator, start);
    const end = found === -1 ? list.length : found;
    const isCarriageReturn = !byZeros && end > start && list[end - 1] === 0x0d;
    const path = list.subarray(start, isCarriageReturn ? end - 1 : end);
    const isComment = !byZeros && (path[0] === 0x23 || path[0] === 0x3b);
    if (path.length > 0 && !isComment) paths.push(path);
    start = end + 1;
  }
  return paths;
}

/**
 * Reads a list of paths from a file, or from standard input where its name is `-`.
 * @throws CliError ERR_RDMC_USAGE for a list without a path; ENOENT and other errno codes
 */
export async function readPathList(
  name: string,
  byZeros: boolean,
  standardInput: Readable,
  signal: AbortSignal,
): Promise<Buffer[]> {
  const list = name === STANDARD_INPUT ? await readAll(standardInput, signal) : await readListFile(name);
  const paths = pathsIn(list, byZeros);
  if (paths.length === 0) throw usageError('--files-from: the list does not contain a path');
  return paths;
}

async function readListFile(name: string): Promise<Buffer> {
  try {
    return await readFile(name);
  } catch (cause) {
    throw fileError(`cannot read the list of paths ${name}`, cause, { exitCode: ExitCode.USAGE });
  }
}
