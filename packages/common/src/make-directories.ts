import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './thrown.js';

/**
 * Creates a directory and its missing parents. Resolves with the outermost directory that was made; undefined: it existed. `mkdir` of
 * Node.js with `recursive` never ends below a directory in which the system creates nothing and says ENOENT, such as `/proc`.
 * @throws errors of the file system
 */
export async function makeDirectories(path: string): Promise<string | undefined> {
  const error = await errorOfMaking(path);
  if (error === undefined) return path;
  if (codeOf(error) !== 'ENOENT') return existing(path, error);
  const parent = dirname(path);
  if (parent === path) throw error;
  const first = await makeDirectories(parent);
  const second = await errorOfMaking(path);
  if (second !== undefined) await existing(path, second);
  return first ?? path;
}

async function errorOfMaking(path: string): Promise<unknown> {
  try {
    await mkdir(path);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The system refused a directory: perhaps it exists, or another process has made it meanwhile. */
async function existing(path: string, error: unknown): Promise<undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isDirectory()) throw error;
}
