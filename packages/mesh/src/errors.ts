export { codeOf, messageOf } from '@rdmc/common';

import type { Member } from './members.js';

/** Every code a {@link MeshError} can carry. They are stable; messages are not. */
export type MeshErrorCode =
  | 'ERR_RDMC_MESH_INVALID_OPTION'
  | 'ERR_RDMC_MESH_INVALID_ARGUMENT'
  | 'ERR_RDMC_MESH_DUPLICATE_MEMBER'
  | 'ERR_RDMC_MESH_WEAK_KEY'
  | 'ERR_RDMC_MESH_KEY_REQUIRED'
  | 'ERR_RDMC_MESH_USER_KEY'
  | 'ERR_RDMC_MESH_LISTEN_FAILED'
  | 'ERR_RDMC_MESH_TIMEOUT'
  | 'ERR_RDMC_MESH_ABORTED'
  | 'ERR_RDMC_MESH_JOIN_ABORTED'
  | 'ERR_RDMC_MESH_VERSION'
  | 'ERR_RDMC_MESH_MEMBERS_DIFFER'
  | 'ERR_RDMC_MESH_WRONG_MEMBER'
  | 'ERR_RDMC_MESH_WRONG_KEY'
  | 'ERR_RDMC_MESH_ALREADY_FORMED'
  | 'ERR_RDMC_MESH_UNREACHABLE'
  | 'ERR_RDMC_MESH_PROTOCOL'
  | 'ERR_RDMC_MESH_MEMBER_LOST'
  | 'ERR_RDMC_MESH_MEMBER_SILENT'
  | 'ERR_RDMC_MESH_MEMBER_REPORTED'
  | 'ERR_RDMC_MESH_MEMBER_LEFT'
  | 'ERR_RDMC_MESH_EVICTED'
  | 'ERR_RDMC_MESH_UNREAD_OVERFLOW'
  | 'ERR_RDMC_MESH_BACKPRESSURE'
  | 'ERR_RDMC_MESH_FRAME_TOO_LARGE'
  | 'ERR_RDMC_MESH_INVALID_BODY'
  | 'ERR_RDMC_MESH_HANDLER_TAKEN'
  | 'ERR_RDMC_MESH_NO_HANDLER'
  | 'ERR_RDMC_MESH_REQUEST_TIMEOUT'
  | 'ERR_RDMC_MESH_REMOTE'
  | 'ERR_RDMC_MESH_CLOSED';

/** A member that did not come, and the last thing that went wrong on the way to it. */
export interface MissingMember extends Member {
  readonly lastError: string | undefined;
}

export interface MeshErrorDetails {
  readonly cause?: unknown;
  /** The member the error is about. */
  readonly member?: number;
  /** Only on a time-out of `join`. */
  readonly missing?: readonly MissingMember[];
}

/** Everything this package throws or rejects with, apart from errors carried over by a request. */
export class MeshError extends Error {
  override readonly name: string = 'MeshError';
  readonly code: MeshErrorCode;
  readonly member: number | undefined;
  readonly missing: readonly MissingMember[] | undefined;

  constructor(code: MeshErrorCode, message: string, details: MeshErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.member = details.member;
    this.missing = details.missing;
  }
}

/**
 * A request's handler on the other member threw. `code` is the code of that error (for example
 * one of another package), or `ERR_RDMC_MESH_REMOTE` where it had none.
 */
export class MeshRemoteError extends Error {
  override readonly name = 'MeshRemoteError';
  readonly code: string;
  readonly member: number;

  constructor(member: number, code: string, message: string) {
    super(message);
    this.code = code;
    this.member = member;
  }
}

export function protocolError(message: string): MeshError {
  return new MeshError('ERR_RDMC_MESH_PROTOCOL', message);
}

export function invalidOption(message: string): MeshError {
  return new MeshError('ERR_RDMC_MESH_INVALID_OPTION', message);
}

export function invalidArgument(message: string): MeshError {
  return new MeshError('ERR_RDMC_MESH_INVALID_ARGUMENT', message);
}
