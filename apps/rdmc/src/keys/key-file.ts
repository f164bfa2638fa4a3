import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CliError, codeOf, fileError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { type KeyUse, keyError, newKey, parseKey } from './key.js';

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;
/** Much more than a key: a longer file is not a key file. */
const MOST_TEXT_BYTES = 4096;

async function textOf(file: FileHandle, path: string): Promise<string> {
  const { mode, size } = await file.stat();
  if ((mode & constants.S_IFMT) === constants.S_IFREG) {
    if ((mode & OTHERS) !== 0) {
      const found = (mode & 0o777).toString(8).padStart(4, '0');
      throw keyError(
        `the key file ${path} can be read or changed by others (mode ${found})`,
        `chmod 600 ${path}`,
      );
    }
    if (size > MOST_TEXT_BYTES)
      throw keyError(`${path} has ${size} bytes, so it is not a key file`, 'check the path');
  } else if ((mode & constants.S_IFMT) === constants.S_IFDIR) {
    throw keyError(`the key file ${path} is a directory`, 'give the path of the file');
  }
  return await file.readFile('utf8');
}

/**
 * Reads the key in a file. A file that others can read is refused, as ssh refuses such keys. The mode of pipes, as of
 * the shell's `<(command)`, is not checked.
 * @throws CliError ERR_RDMC_INVALID_KEY, ERR_RDMC_WRONG_ROLE, or the system's code
 */
export async function readKeyFile(path: string, use: KeyUse = 'other'): Promise<Uint8Array> {
  try {
    const file = await open(path, constants.O_RDONLY);
    try {
      return parseKey(await textOf(file, path), `in ${path}`, use);
    } finally {
      await file.close();
    }
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
