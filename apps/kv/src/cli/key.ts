import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { KvError, messageOf } from '../errors.js';

const OTHERS_MODE_BITS = 0o077;
/** Far more than a key: a longer file is not a key file. */
const MOST_KEY_FILE_BYTES = 4096;

/**
 * The cluster key: from a file, or from the variable RDMC_KEY.
 * @throws KvError ERR_RDMC_KV_INVALID_KEY: the file cannot be read, or others can read it
 */
export function clusterKey(file: string | undefined): string | undefined {
  return file === undefined ? process.env.RDMC_KEY : keyIn(file);
}

/** A file that others can read is refused, as ssh does; a pipe, as of the shell's `<(command)`, has no such mode. */
function keyIn(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    requireKeyFile(path, file);
    const key = readFileSync(file, 'utf8').trim();
    if (key === '') throw invalidKey(`the key file ${path} is empty; ${MAKE_ONE}`);
    return key;
  } catch (error) {
    if (error instanceof KvError) throw error;
    throw invalidKey(`cannot read the key file: ${messageOf(error)}; ${MAKE_ONE}`, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const MAKE_ONE = 'make one with: (umask 077; openssl rand -hex 32 > key)';

function requireKeyFile(path: string, file: number): void {
  const facts = fstatSync(file);
  if (facts.isDirectory()) throw invalidKey(`the key file ${path} is a directory; name the file in it`);
  if (!facts.isFile()) return;
  if ((facts.mode & OTHERS_MODE_BITS) !== 0) {
    const mode = (facts.mode & 0o777).toString(8).padStart(4, '0');
    throw invalidKey(`others can read or change the key file ${path} (mode ${mode}): chmod 600 ${path}`);
  }
  if (facts.size > MOST_KEY_FILE_BYTES) {
    throw invalidKey(`${path} has ${facts.size} bytes, so it is not a key file; check the path`);
  }
}

function invalidKey(message: string, cause?: unknown): KvError {
  return new KvError('ERR_RDMC_KV_INVALID_KEY', message, { cause });
}
