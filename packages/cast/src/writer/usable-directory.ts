import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import { CastError, type CastErrorCode, codeOf, messageOf } from '../errors.js';
import { TemporaryDirectory } from './temporary-directory.js';

/** Errors that every cast into the directory would have, with what to do. */
const REFUSED: ReadonlyMap<string, readonly [code: CastErrorCode, what: string]> = new Map([
  [
    'EROFS',
    ['ERR_RDMC_READ_ONLY', 'is on a read-only file system; mount it for writing, or give another one'],
  ],
  ['EACCES', ['ERR_RDMC_PERMISSION', 'may not be written by this user; give the permission, or another one']],
  ['EPERM', ['ERR_RDMC_PERMISSION', 'may not be written by this user; give the permission, or another one']],
]);
/** A full disk may have room again when a cast comes, so it does not prevent the start. */
const LATER = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Opens a receiving directory; the caller closes the descriptor.
 * @throws CastError ERR_RDMC_NOT_FOUND, ERR_RDMC_NOT_A_DIRECTORY, ERR_RDMC_PERMISSION and others
 */
export function openReceivingDirectory(directory: string): number {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT')
      throw unusable('ERR_RDMC_NOT_FOUND', `${directory} does not exist; make it first`, error);
    if (code === 'ENOTDIR')
      throw unusable('ERR_RDMC_NOT_A_DIRECTORY', `${directory} is not a directory; give a directory`, error);
    if (code === 'EACCES')
      throw unusable('ERR_RDMC_PERMISSION', `${directory} may not be read by this user`, error);
    throw unusable('ERR_RDMC_WRITE_FAILED', `${directory} cannot be opened: ${messageOf(error)}`, error);
  }
}

/**
 * Makes and removes a temporary directory in the receiving directory, as every cast does: permission bits alone do not tell whether
 * it can be written. @throws CastError ERR_RDMC_READ_ONLY, ERR_RDMC_PERMISSION, ERR_RDMC_WRITE_FAILED
 */
export function checkWritable(root: number, directory: string): void {
  try {
    new TemporaryDirectory(root, randomUUID()).remove();
  } catch (error) {
    const errno = codeOf(error) ?? '';
    if (LATER.has(errno)) return;
    const [code, what] = REFUSED.get(errno) ?? ['ERR_RDMC_WRITE_FAILED' as const, 'cannot be written'];
    throw unusable(code, `${directory} ${what} (${errno})`, error);
  }
}

/** Opens it, checks that it can be written, and passes it on. */
export function inReceivingDirectory<T>(directory: string, use: (root: number) => T): T {
  const root = openReceivingDirectory(directory);
  try {
    checkWritable(root, directory);
    return use(root);
  } finally {
    closeSync(root);
  }
}

function unusable(code: CastErrorCode, message: string, cause: unknown): CastError {
  return new CastError(code, message, { cause });
}
