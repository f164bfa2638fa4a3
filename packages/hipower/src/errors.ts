export { messageOf } from '@rdmc/common';

/** Every code a {@link HiPowerError} can carry. They are stable; messages are not. */
export type HiPowerErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_UNKNOWN_MEMBER'
  | 'ERR_RDMC_DATAPLANE_DIED'
  | 'ERR_RDMC_HIPOWER_NODE_CLOSED'
  | 'ERR_RDMC_HIPOWER_CHANNEL_EXISTS'
  | 'ERR_RDMC_HIPOWER_TIMEOUT'
  | 'ERR_RDMC_HIPOWER_MISMATCH'
  | 'ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE'
  | 'ERR_RDMC_HIPOWER_BUSY'
  | 'ERR_RDMC_HIPOWER_NOT_RESERVED'
  | 'ERR_RDMC_HIPOWER_RELEASED'
  | 'ERR_RDMC_HIPOWER_ENDED'
  | 'ERR_RDMC_HIPOWER_CLOSED'
  | 'ERR_RDMC_HIPOWER_ITERATOR_TAKEN'
  | 'ERR_RDMC_HIPOWER_PEER_LOST'
  | 'ERR_RDMC_HIPOWER_PEER_CLOSED'
  | 'ERR_RDMC_HIPOWER_CONNECTION_LOST'
  | 'ERR_RDMC_HIPOWER_BITMAP'
  | 'ERR_RDMC_HIPOWER_FOOTER'
  | 'ERR_RDMC_HIPOWER_GENERATION'
  | 'ERR_RDMC_HIPOWER_INCOMPLETE'
  | 'ERR_RDMC_HIPOWER_PROTOCOL'
  | 'ERR_RDMC_ABORTED';

/** What one side knows of one peer's messages at the moment of an error. Counts of whole slots since the start. */
export interface Progress {
  readonly memberId: number;
  /** Requester: slots posted. Responder: slots delivered to the application. */
  readonly delivered: number;
  /** Requester: slots known to be released by the peer. Responder: slots released here. */
  readonly released: number;
}

export interface HiPowerErrorDetails {
  readonly cause?: unknown;
  /** The member the error is about. */
  readonly memberId?: number;
  readonly reason?: string;
  /** What the two sides disagree on. */
  readonly field?: string;
  readonly missing?: readonly number[];
  readonly progress?: readonly Progress[];
}

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class HiPowerError extends Error {
  override readonly name = 'HiPowerError';
  readonly code: HiPowerErrorCode;
  readonly memberId: number | undefined;
  readonly reason: string | undefined;
  readonly field: string | undefined;
  readonly missing: readonly number[] | undefined;
  /** Per peer, what was and what was not consumed. */
  readonly progress: readonly Progress[] | undefined;

  constructor(code: HiPowerErrorCode, message: string, details: HiPowerErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.memberId = details.memberId;
    this.reason = details.reason;
    this.field = details.field;
    this.missing = details.missing;
    this.progress = details.progress;
  }
}

export function invalidOption(message: string): HiPowerError {
  return new HiPowerError('ERR_RDMC_INVALID_OPTION', message);
}
