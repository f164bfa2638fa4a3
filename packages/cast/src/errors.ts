import { codeOf, messageOf } from '@rdmc/common';
import type { CastSummary } from './cast-summary.js';

export { codeOf, messageOf };

/** Every code a {@link CastError} can carry. They are stable; messages are not. */
export type CastErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_NOT_FOUND'
  | 'ERR_RDMC_DUPLICATE_NAME'
  | 'ERR_RDMC_UNREADABLE'
  | 'ERR_RDMC_UNSUPPORTED_TYPE'
  | 'ERR_RDMC_FILE_CHANGED'
  | 'ERR_RDMC_DUPLICATE_HOST'
  | 'ERR_RDMC_UNKNOWN_HOST'
  | 'ERR_RDMC_CAST_UNREACHABLE'
  | 'ERR_RDMC_KEY_REQUIRED'
  | 'ERR_RDMC_KEY_MISMATCH'
  | 'ERR_RDMC_VERSION_MISMATCH'
  | 'ERR_RDMC_ADDRESS_IN_USE'
  | 'ERR_RDMC_LISTEN_FAILED'
  | 'ERR_RDMC_BUSY'
  | 'ERR_RDMC_NO_SPACE'
  | 'ERR_RDMC_READ_ONLY'
  | 'ERR_RDMC_PERMISSION'
  | 'ERR_RDMC_NOT_A_DIRECTORY'
  | 'ERR_RDMC_WRITE_FAILED'
  | 'ERR_RDMC_UNSAFE_PATH'
  | 'ERR_RDMC_PATH_CONFLICT'
  | 'ERR_RDMC_SHARED_DIRECTORY'
  | 'ERR_RDMC_OTHER_FILE_SYSTEM'
  | 'ERR_RDMC_HASH_MISMATCH'
  | 'ERR_RDMC_LINK_TARGET_MISSING'
  | 'ERR_RDMC_PARTIAL'
  | 'ERR_RDMC_RECEIVER_STALLED'
  | 'ERR_RDMC_RECEIVER_LOST'
  | 'ERR_RDMC_SENDER_LOST'
  | 'ERR_RDMC_NO_RECEIVERS'
  | 'ERR_RDMC_CAST_PROTOCOL'
  | 'ERR_RDMC_ITERATOR_TAKEN'
  | 'ERR_RDMC_ABORTED';

export interface CastErrorDetails {
  readonly cause?: unknown;
  /** The receiver the error is about, as `host:port`. */
  readonly receiver?: string | undefined;
  /** What became of every receiver, where a cast failed with all of them. */
  readonly summary?: CastSummary | undefined;
}

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class CastError extends Error {
  override readonly name = 'CastError';
  readonly code: CastErrorCode;
  readonly receiver: string | undefined;
  readonly summary: CastSummary | undefined;

  constructor(code: CastErrorCode, message: string, details: CastErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.receiver = details.receiver;
    this.summary = details.summary;
  }
}

export function invalidOption(message: string): CastError {
  return new CastError('ERR_RDMC_INVALID_OPTION', message);
}

export function protocolError(message: string, cause?: unknown): CastError {
  return new CastError('ERR_RDMC_CAST_PROTOCOL', message, { cause });
}

/** Of what a receiver still does for a cast that it has given up. */
export function givenUp(): CastError {
  return new CastError('ERR_RDMC_ABORTED', 'the receiver has given the cast up');
}

/** Errors of layers below keep their codes; those without one of ours get `fallback`. */
export function toCastError(error: unknown, fallback: CastErrorCode, message = messageOf(error)): CastError {
  if (error instanceof CastError) return error;
  const code = codeOf(error);
  if (!code?.startsWith('ERR_RDMC_')) return new CastError(fallback, message, { cause: error });
  return new CastError(code as CastErrorCode, messageOf(error), { cause: error });
}
