import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { CliError, codeOf, fileError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { type KeyUse, keyError, newKey, parseKey } from './key.js';
import { pipeText } from './pipe-text.js';

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;
/** Much more than a key: a longer file is not a key file. */
const MOST_TEXT_BYTES = 4096;

/** A pipe that is opened with O_NONBLOCK does not wait for its writer, in a thread where no signal can end the wait. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

function requireOwnFile(path: string, { mode, size }: Stats): void {
  if ((mode & OTHERS) !== 0) {
    const found = (mode & 0o777).toString(8).padStart(4, '0');
    throw keyError(
      `the key file ${path} can be read or changed by others (mode ${found})`,
      `chmod 600 ${path}`,
    );
  }
  if (size > MOST_TEXT_BYTES) throw tooLong(path, size);
}

function tooLong(path: string, size: number | string): CliError {
  return keyError(`${path} has ${size} bytes, so it is not a key file`, 'check the path');
}

async function textIn(path: string, signal: AbortSignal | undefined): Promise<string> {
  const file = openSync(path, READ_FLAGS);
  let isOpen = true;
  try {
    const facts = fstatSync(file);
    if (facts.isDirectory())
      throw keyError(`the key file ${path} is a directory`, 'give the path of the file');
    if (facts.isFile()) {
      requireOwnFile(path, facts);
      return readFileSync(file, 'utf8');
    }
    isOpen = false;
    const limit = {
      mostBytes: MOST_TEXT_BYTES,
      tooLong: () => tooLong(path, `more than ${MOST_TEXT_BYTES}`),
    };
    return await pipeText(file, facts.isFIFO(), limit, signal);
  } finally {
    if (isOpen) closeSync(file);
  }
}

/**
 * Reads the key in a file. A file that others can read is refused, as ssh refuses such keys. The mode of pipes, as of
 * the shell's `<(command)`, is not checked.
 * @param signal ends the wait for the writer of a pipe
 * @throws CliError ERR_RDMC_INVALID_KEY, ERR_RDMC_WRONG_ROLE, or the system's code; the reason of the signal
 */
export async function readKeyFile(
  path: string,
  use: KeyUse = 'other',
  signal?: AbortSignal,
): Promise<Uint8Array> {
  try {
    return parseKey(await textIn(path, signal), `in ${path}`, use);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const advice = codeOf(error) === 'ENOENT' ? { advice: `make one with: rdmc key ${path}` } : {};
    throw fileError(`cannot read the key file ${path}`, error, { exitCode: ExitCode.USAGE, ...advice });
  }
}

/**
 * Writes a key, by default a new one, to a new file that only its owner can read.
 * @throws CliError EEXIST when the path exists: a key in use is never overwritten
 */
export async function createKeyFile(path: string, text = newKey()): Promise<void> {
  try {
    const file = await open(path, 'wx', OWNER_ONLY);
    try {
      await file.writeFile(`${text}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    const advice = 'remove it first if it is not used any more, or choose another name';
    throw fileError(`cannot write the key file ${path}`, error, codeOf(error) === 'EEXIST' ? { advice } : {});
  }
}
