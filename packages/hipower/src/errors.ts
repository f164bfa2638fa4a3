import { errorTable, isCodeOf, optionErrors, RdmcError } from '@rdmc/common';

export { AbortError, messageOf, throwIfAborted } from '@rdmc/common';

/** Every code a {@link HiPowerError} can carry. They are stable; messages are not. */
export const hiPowerErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_UNKNOWN_MEMBER: [
    'usage',
    'the list has an id that is not a member of the mesh',
    'name members of the mesh',
  ],
  ERR_RDMC_DATAPLANE_DIED: [
    'internal',
    'the worker of this member died',
    'see the cause; close the node and join again',
  ],
  ERR_RDMC_DEVICE_REMOVED: [
    'resource',
    'the RDMA device of this member is gone',
    'close the node, and join again with another',
  ],
  ERR_RDMC_HIPOWER_NODE_CLOSED: ['closed', 'the node is closed', 'join again'],
  ERR_RDMC_HIPOWER_CHANNEL_EXISTS: [
    'usage',
    'this end of the channel exists at this node',
    'close it first, or choose another name',
  ],
  ERR_RDMC_HIPOWER_TIMEOUT: [
    'timeout',
    'members did not create the other end in time',
    'check the members in `missing`',
  ],
  ERR_RDMC_HIPOWER_MISMATCH: [
    'refused',
    'the ends have different options or versions',
    'give both ends the same; `field` names the option',
  ],
  ERR_RDMC_HIPOWER_MESSAGE_TOO_LARGE: [
    'usage',
    'the message is larger than a slot, or than all slots',
    'send less, or use larger slots',
  ],
  ERR_RDMC_HIPOWER_BUSY: [
    'resource',
    'another call comes first, or all channel numbers are in use',
    'await it, or close a channel',
  ],
  ERR_RDMC_HIPOWER_NOT_RESERVED: ['usage', 'no slot is reserved', 'call `reserve` first'],
  ERR_RDMC_HIPOWER_RELEASED: ['usage', 'the message was released before', 'copy what is needed later'],
  ERR_RDMC_HIPOWER_ENDED: ['usage', 'the end was announced', 'write before `end()`'],
  ERR_RDMC_HIPOWER_CLOSED: ['closed', 'this end is closed', 'create another channel'],
  ERR_RDMC_HIPOWER_ITERATOR_TAKEN: [
    'usage',
    'an iterator of the responder is already active',
    'iterate once, and share the messages',
  ],
  ERR_RDMC_HIPOWER_PEER_LOST: ['peer-lost', 'a member was lost', 'see `progress` for what it consumed'],
  ERR_RDMC_HIPOWER_PEER_CLOSED: ['peer-lost', 'a peer closed before the end', 'see its `reason`'],
  ERR_RDMC_HIPOWER_CONNECTION_LOST: [
    'peer-lost',
    'the connection failed repeatedly',
    'check the network; both processes are alive',
  ],
  ERR_RDMC_HIPOWER_BITMAP: ['refused', 'a bitmap has impossible bits', 'run the same version everywhere'],
  ERR_RDMC_HIPOWER_FOOTER: ['refused', 'a footer does not match', 'run the same version everywhere'],
  ERR_RDMC_HIPOWER_GENERATION: [
    'refused',
    'a slot is of another generation',
    'run the same version everywhere',
  ],
  ERR_RDMC_HIPOWER_INCOMPLETE: ['refused', 'slots did not arrive', 'run the same version everywhere'],
  ERR_RDMC_HIPOWER_PROTOCOL: ['refused', 'a peer violated the protocol', 'run the same version everywhere'],
});
/** The stable codes of this package's errors; `hiPowerErrors` has their meaning. */
export type HiPowerErrorCode = keyof typeof hiPowerErrors;

/** The code of a peer or the worker; a code that this version does not have is a violation. */
export function hiPowerCode(code: string): HiPowerErrorCode {
  return isCodeOf(hiPowerErrors, code) ? code : 'ERR_RDMC_HIPOWER_PROTOCOL';
}

/** The reason of a side whose device was removed; its peers get the same text. */
export const DEVICE_REMOVED = 'its RDMA device is gone';

/** One side's knowledge of one peer's messages at the time of an error. Counts of whole slots since the start. */
export interface Progress {
  /** The peer. */
  readonly memberId: number;
  /** Requester: slots posted. Responder: slots delivered to the application. */
  readonly delivered: number;
  /** Requester: slots known to be released by the peer. Responder: slots released here. */
  readonly released: number;
}

/** What a {@link HiPowerError} knows beside its code and message. */
export interface HiPowerErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** The member the error is about. */
  readonly memberId?: number;
  /** The observed failure, as text. */
  readonly reason?: string;
  /** The option on which the two sides disagree. */
  readonly field?: string;
  /** Ids of members that did not create their end in time. */
  readonly missing?: readonly number[];
  /** Per peer, how much was consumed. */
  readonly progress?: readonly Progress[];
}

/** The errors of this package, beside `AbortError`. Distinguish cases by `code`. */
export class HiPowerError extends RdmcError<HiPowerErrorCode> {
  override readonly name = 'HiPowerError';
  /** The observed failure, as text. */
  readonly reason: string | undefined;
  /** The option on which the two sides disagree. */
  readonly field: string | undefined;
  /** Ids of members that did not create their end in time. */
  readonly missing: readonly number[] | undefined;
  /** Per peer, how much was consumed. */
  readonly progress: readonly Progress[] | undefined;

  constructor(code: HiPowerErrorCode, message: string, details: HiPowerErrorDetails = {}) {
    super(code, message, details);
    this.reason = details.reason;
    this.field = details.field;
    this.missing = details.missing;
    this.progress = details.progress;
  }
}

export function invalidOption(message: string): HiPowerError {
  return new HiPowerError('ERR_RDMC_INVALID_OPTION', message);
}
