/**
 * The key of a user: what keyless connections on one host prove to each other. Every process of the user may read it,
 * and no process of another user (except root) can.
 *
 *   $XDG_RUNTIME_DIR/rdmc/   or, where that variable is not set or names a directory of somebody else, /tmp/rdmc-UID/
 *       0700, a directory of this user, not a symbolic link
 *   …/user-key
 *       0600, a regular file of this user, not a symbolic link: 32 random bytes
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { errorTable, RdmcError } from './rdmc-error.js';
import { codeOf, messageOf } from './thrown.js';

/** Length of the key of a user. */
export const USER_KEY_BYTES = 32;
const FILE_NAME = 'user-key';
const OTHERS_MODE_BITS = 0o077;

/** The error of a key of the user that cannot be used. */
export const userKeyErrors = errorTable({
  ERR_RDMC_USER_KEY: [
    'resource',
    'the key of the user cannot be read or made',
    'the message names the file and what is wrong with it; or give a `key`',
  ],
});

/** The user's key cannot be read or made; `message` names the path and what is wrong with it. */
export class UserKeyError extends RdmcError<keyof typeof userKeyErrors> {
  override readonly name = 'UserKeyError';

  constructor(message: string, cause?: unknown) {
    super('ERR_RDMC_USER_KEY', message, { cause });
  }
}

/**
 * The key of the user that runs this process, 32 bytes; the first call of a user makes it. Blocks for two or three
 * system calls. May be called from any thread.
 * @throws UserKeyError ERR_RDMC_USER_KEY: the directory or the file belongs to somebody else, is a symbolic link, is
 * open to others, or cannot be read or written
 */
export function userKey(): Buffer {
  const directory = userKeyDirectory();
  const path = join(directory, FILE_NAME);
  try {
    makeDirectory(directory);
    return readKey(path) ?? makeKey(directory, path);
  } catch (error) {
    if (error instanceof UserKeyError) throw error;
    throw new UserKeyError(`the user's key ${path} cannot be used: ${messageOf(error)}`, error);
  }
}

/** Where this process looks for the user's key, for messages about keys that differ. */
export function userKeyDirectory(): string {
  const runtime = process.env.XDG_RUNTIME_DIR;
  if (runtime?.startsWith('/') && isOwnDirectory(runtime)) return join(runtime, 'rdmc');
  return `/tmp/rdmc-${userId()}`;
}

function userId(): number {
  return process.geteuid?.() ?? userInfo().uid;
}

/** After `su` or `sudo` the variable may still name the former user's directory. */
function isOwnDirectory(path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts?.isDirectory() === true && facts.uid === userId();
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const facts = lstatSync(directory);
  if (!facts.isDirectory()) throw refused(directory, 'is not a directory');
  requirePrivate(directory, facts);
}

/** The key in the file, or undefined where there is no such file. */
function readKey(path: string): Buffer | undefined {
  const file = openOwn(path);
  if (file === undefined) return undefined;
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) throw refused(path, 'is not a regular file');
    requirePrivate(path, facts);
    // One byte more than a key has, so that a longer file is noticed.
    const bytes = Buffer.alloc(USER_KEY_BYTES + 1);
    const length = readSync(file, bytes, 0, bytes.length, 0);
    if (length !== USER_KEY_BYTES) {
      throw refused(
        path,
        `does not hold ${USER_KEY_BYTES} bytes; remove it, and the next start makes a new one`,
      );
    }
    return bytes.subarray(0, USER_KEY_BYTES);
  } finally {
    closeSync(file);
  }
}

function openOwn(path: string): number | undefined {
  try {
    // A FIFO would block the open without O_NONBLOCK.
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) === 'ELOOP') throw refused(path, 'is a symbolic link');
    throw error;
  }
}

/**
 * Written under a name of its own and then linked: no process sees half a key, and the first one to link wins. On the
 * disk before it has its name: a loss of power could leave an empty file, which is refused until somebody removes it.
 * (The loss of the name does no harm: everything that used the key is gone, too.)
 */
function makeKey(directory: string, path: string): Buffer {
  // Every thread loads this module, and few make a key: `node:crypto` takes more than a millisecond to load.
  const { randomBytes } = process.getBuiltinModule('node:crypto');
  const key = randomBytes(USER_KEY_BYTES);
  const temporary = join(directory, `${FILE_NAME}.${process.pid}.${randomBytes(6).toString('hex')}`);
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(file, key);
    fsyncSync(file);
    linkSync(temporary, path);
    return key;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const other = readKey(path);
    if (other === undefined) throw error;
    return other;
  } finally {
    closeSync(file);
    unlinkSync(temporary);
  }
}

function requirePrivate(path: string, facts: Stats): void {
  if (facts.uid !== userId()) throw refused(path, `belongs to user ${facts.uid}, not to user ${userId()}`);
  if ((facts.mode & OTHERS_MODE_BITS) === 0) return;
  const mode = (facts.mode & 0o777).toString(8).padStart(4, '0');
  throw refused(path, `has mode ${mode}; other users must have no access: chmod go= ${path}`);
}

function refused(path: string, why: string): UserKeyError {
  return new UserKeyError(`the user's key cannot be used: ${path} ${why}`);
}
