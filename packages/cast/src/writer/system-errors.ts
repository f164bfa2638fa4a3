import { CastError, type CastErrorCode, codeOf, messageOf } from '../errors.js';

/** Errors after which nothing more can be stored. */
const FATAL: ReadonlyMap<string, CastErrorCode> = new Map([
  ['ENOSPC', 'ERR_RDMC_NO_SPACE'],
  ['EDQUOT', 'ERR_RDMC_NO_SPACE'],
  ['EROFS', 'ERR_RDMC_READ_ONLY'],
  ['EIO', 'ERR_RDMC_WRITE_FAILED'],
  ['EMFILE', 'ERR_RDMC_WRITE_FAILED'],
  ['ENFILE', 'ERR_RDMC_WRITE_FAILED'],
  ['ENOMEM', 'ERR_RDMC_WRITE_FAILED'],
  ['ESTALE', 'ERR_RDMC_WRITE_FAILED'],
]);

/** Errors that concern one entry. */
const OF_ENTRY: ReadonlyMap<string, CastErrorCode> = new Map([
  ['EACCES', 'ERR_RDMC_PERMISSION'],
  ['EPERM', 'ERR_RDMC_PERMISSION'],
  ['EISDIR', 'ERR_RDMC_PATH_CONFLICT'],
  ['ENOTDIR', 'ERR_RDMC_PATH_CONFLICT'],
  ['ENOTEMPTY', 'ERR_RDMC_PATH_CONFLICT'],
  ['EEXIST', 'ERR_RDMC_PATH_CONFLICT'],
  ['EBUSY', 'ERR_RDMC_PATH_CONFLICT'],
  ['EXDEV', 'ERR_RDMC_OTHER_FILE_SYSTEM'],
  ['ELOOP', 'ERR_RDMC_UNSAFE_PATH'],
]);

const ADVICE: Partial<Record<CastErrorCode, string>> = {
  ERR_RDMC_NO_SPACE: 'no space is left in the receiving directory; make room and cast again',
  ERR_RDMC_READ_ONLY: 'the receiving directory is on a read-only file system; mount it for writing',
  ERR_RDMC_PERMISSION: 'the receiver may not write there; give it the permission, or another directory',
  ERR_RDMC_PATH_CONFLICT: 'an entry of another kind has that name there; move it away and cast again',
  ERR_RDMC_OTHER_FILE_SYSTEM:
    'it is on another file system than the receiving directory; receive into that one directly',
};

/** Errors of this package that end the cast here. */
const ENDING = new Set(['ERR_RDMC_CAST_PROTOCOL', 'ERR_RDMC_VERSION_MISMATCH', 'ERR_RDMC_ABORTED']);

/** Whether nothing more can be stored after this error. */
export function isFatal(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return FATAL.has(code) || ENDING.has(code);
}

/** Converts an error of the system. */
export function asCastError(error: unknown): CastError {
  if (error instanceof CastError) return error;
  const errno = codeOf(error) ?? '';
  const code = FATAL.get(errno) ?? OF_ENTRY.get(errno) ?? 'ERR_RDMC_WRITE_FAILED';
  const advice = ADVICE[code];
  return new CastError(code, advice ? `${advice} (${errno})` : messageOf(error), { cause: error });
}
