import { CastError, codeOf, messageOf } from '../errors.js';

/**
 * The error of a cast that ends because the application failed to take a file.
 * @param what takes the file: 'sink' or 'memory'
 */
export function sinkFailure(what: 'sink' | 'memory', name: string, cause: unknown): CastError {
  if (cause instanceof CastError) return cause;
  const code = codeOf(cause);
  const isOwn = code?.startsWith('ERR_RDMC_') === true;
  const unsaid = isOwn || code === undefined || messageOf(cause).includes(code) ? '' : ` (${code})`;
  const message = `the ${what} of ${name} failed: ${messageOf(cause)}${unsaid}`;
  return new CastError(isOwn ? code : 'ERR_RDMC_WRITE_FAILED', message, { cause });
}
