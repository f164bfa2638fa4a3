export { messageOf } from '@rdmc/common';

/** Every code a {@link GroupError} of this package can carry. They are stable; messages are not. */
export type GroupErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_UNKNOWN_ALGORITHM'
  | 'ERR_RDMC_GROUP_TOO_SMALL'
  | 'ERR_RDMC_DUPLICATE_MEMBER'
  | 'ERR_RDMC_UNKNOWN_MEMBER'
  | 'ERR_RDMC_NOT_A_MEMBER'
  | 'ERR_RDMC_GROUP_EXISTS'
  | 'ERR_RDMC_TOO_MANY_GROUPS'
  | 'ERR_RDMC_GROUP_MISMATCH'
  | 'ERR_RDMC_GROUP_TIMEOUT'
  | 'ERR_RDMC_NOT_ROOT'
  | 'ERR_RDMC_ROOT_RECEIVES_NOTHING'
  | 'ERR_RDMC_ITERATOR_TAKEN'
  | 'ERR_RDMC_MEMBER_LOST'
  | 'ERR_RDMC_PROTOCOL'
  | 'ERR_RDMC_POST_FAILED'
  | 'ERR_RDMC_INCOMING_FAILED'
  | 'ERR_RDMC_INVALID_REGION'
  | 'ERR_RDMC_TOO_MANY_BLOCKS'
  | 'ERR_RDMC_CLOSE_UNKNOWN'
  | 'ERR_RDMC_GROUP_CLOSED'
  | 'ERR_RDMC_NODE_CLOSED'
  | 'ERR_RDMC_ABORTED'
  | 'ERR_RDMC_DATAPLANE_DIED'
  | 'ERR_RDMC_DEVICE_REMOVED';

export interface GroupErrorDetails {
  readonly cause?: unknown;
  /** The member the error is about. */
  readonly memberId?: number;
  /** What was seen of its failure. */
  readonly reason?: string;
  /** Members that did not come. */
  readonly missing?: readonly number[];
  /** What members disagree on. */
  readonly field?: string;
  /** Resolves when the device has let go of memory that the failed call still uses. */
  readonly settled?: Promise<void>;
}

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class GroupError extends Error {
  override readonly name = 'GroupError';
  readonly code: GroupErrorCode;
  readonly memberId: number | undefined;
  readonly reason: string | undefined;
  readonly missing: readonly number[] | undefined;
  readonly field: string | undefined;
  readonly settled: Promise<void> | undefined;

  constructor(code: GroupErrorCode, message: string, details: GroupErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.memberId = details.memberId;
    this.reason = details.reason;
    this.missing = details.missing;
    this.field = details.field;
    this.settled = details.settled;
  }
}

export function invalidOption(message: string): GroupError {
  return new GroupError('ERR_RDMC_INVALID_OPTION', message);
}

export function abortedError(what: string, signal: AbortSignal, settled?: Promise<void>): GroupError {
  return new GroupError('ERR_RDMC_ABORTED', `${what} was aborted by its signal`, {
    cause: signal.reason,
    ...(settled && { settled }),
  });
}
