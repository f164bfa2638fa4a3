import { errorTable, RdmcError } from '@rdmc/common';
import type { Member } from './member.js';

export { AbortError, codeOf, isCodeOf, messageOf, RdmcError, throwIfAborted } from '@rdmc/common';

/** Every code a {@link MeshError} can carry. They are stable; messages are not. */
export const meshErrors = errorTable({
  ERR_RDMC_MESH_INVALID_OPTION: ['usage', 'an option is wrong, or unknown', 'the message names it'],
  ERR_RDMC_MESH_INVALID_ARGUMENT: ['usage', 'an argument is wrong', 'the message names it'],
  ERR_RDMC_MESH_DUPLICATE_MEMBER: ['usage', 'an id or address is used twice', 'give each member its own'],
  ERR_RDMC_MESH_WEAK_KEY: ['usage', 'the key has fewer than 16 bytes', 'make one: openssl rand -hex 32'],
  ERR_RDMC_MESH_KEY_REQUIRED: [
    'usage',
    'a host is beyond loopback, and no key is given',
    'give all members the same key',
  ],
  ERR_RDMC_MESH_USER_KEY: [
    'resource',
    'the key of the user cannot be read or created',
    'the message says why; or give a `key`',
  ],
  ERR_RDMC_MESH_LISTEN_FAILED: [
    'resource',
    'the port or address is not available',
    'free the port; use an address of this host',
  ],
  ERR_RDMC_MESH_TIMEOUT: ['timeout', 'members did not join in time', 'check the members in `missing`'],
  ERR_RDMC_MESH_JOIN_ABORTED: ['peer-lost', 'another member stopped joining', 'the message has its reason'],
  ERR_RDMC_MESH_VERSION: [
    'refused',
    'members have no common level, or protocol version',
    'run releases that follow each other, or one',
  ],
  ERR_RDMC_MESH_MEMBERS_DIFFER: ['refused', 'the lists of members differ', 'give all members the same list'],
  ERR_RDMC_MESH_WRONG_MEMBER: [
    'refused',
    'another member listens at the address',
    'compare the list with the members',
  ],
  ERR_RDMC_MESH_WRONG_KEY: ['refused', 'the keys differ, or only one end has one', 'give both the same key'],
  ERR_RDMC_MESH_OTHER_CLUSTER: ['refused', 'the cluster ids differ', 'compare `clusterId` at both'],
  ERR_RDMC_ID_IN_USE: [
    'refused',
    'another process has the id, and answers',
    'use another id; or end that process; or give `replace: true`',
  ],
  ERR_RDMC_REPLACED: ['refused', 'a newer process has the id', 'end this process'],
  ERR_RDMC_MESH_DIRECTORY: [
    'resource',
    'the file of the incarnation cannot be read or written',
    'the message says why; repair `directory`',
  ],
  ERR_RDMC_MESH_ALREADY_FORMED: [
    'refused',
    'the mesh has formed without this member',
    'start all members again',
  ],
  ERR_RDMC_MESH_UNREACHABLE: ['peer-lost', 'an attempt to connect failed', 'check that it listens there'],
  ERR_RDMC_MESH_PROTOCOL: [
    'refused',
    'the other end violated the protocol',
    'run the same version everywhere',
  ],
  ERR_RDMC_MESH_MEMBER_LOST: ['peer-lost', 'a member has failed', 'go on without it'],
  ERR_RDMC_MESH_MEMBER_SILENT: [
    'peer-lost',
    'a member sent no heartbeat in time',
    'check the process and its host',
  ],
  ERR_RDMC_MESH_CONNECTION_LOST: ['peer-lost', 'a connection of `openConnection` ended', 'open it again'],
  ERR_RDMC_MESH_TOO_MANY_CONNECTIONS: ['resource', 'a member opened 64 connections', 'close connections'],
  ERR_RDMC_MESH_MEMBER_REPORTED: [
    'peer-lost',
    'the application reported that a member failed',
    'go on without it',
  ],
  ERR_RDMC_MESH_MEMBER_LEFT: ['peer-lost', 'a member closed its mesh', 'go on without it'],
  ERR_RDMC_MESH_EVICTED: [
    'peer-lost',
    'the others declared this member failed',
    'end it, and start it again',
  ],
  ERR_RDMC_MESH_UNREAD_OVERFLOW: [
    'resource',
    'too many messages wait for a subscriber',
    'subscribe to the topic',
  ],
  ERR_RDMC_MESH_BACKPRESSURE: ['resource', 'too many bytes are queued', 'send less, or later'],
  ERR_RDMC_MESH_FRAME_TOO_LARGE: ['usage', 'a body is too large', 'send less, or raise `maxFrameBytes`'],
  ERR_RDMC_MESH_INVALID_BODY: [
    'usage',
    'a body is neither bytes nor JSON',
    'send a Uint8Array or a JSON value',
  ],
  ERR_RDMC_MESH_HANDLER_TAKEN: ['usage', 'the topic has a handler', 'set one handler per topic'],
  ERR_RDMC_MESH_NO_HANDLER: [
    'resource',
    'too many requests wait for a handler',
    'set a handler at that member',
  ],
  ERR_RDMC_MESH_REQUEST_TIMEOUT: [
    'timeout',
    'no answer came in time',
    'raise `timeoutMs`, or check the member',
  ],
  ERR_RDMC_MESH_REMOTE: ['internal', 'a handler threw an error without a code', 'see the message'],
  ERR_RDMC_MESH_CLOSED: ['closed', 'the mesh is closed', 'join again for a new one'],
});
/** The stable codes of this package's errors; `meshErrors` has their meaning. */
export type MeshErrorCode = keyof typeof meshErrors;

/** A member that did not join, and the last error of the attempts to reach it. */
export interface MissingMember extends Member {
  /** Text of that error; undefined if no attempt has failed. */
  readonly lastError: string | undefined;
}

/** What a {@link MeshError} knows beside its code and message. */
export interface MeshErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** The member the error is about. */
  readonly memberId?: number;
  /** Only on a time-out of `join`. */
  readonly missing?: readonly MissingMember[];
  /** Only with ERR_RDMC_ID_IN_USE and ERR_RDMC_REPLACED: the process that has the id, where it is known. */
  readonly holder?: ProcessName | undefined;
}

/** Where a process runs. */
export interface ProcessName {
  /** The name of its host. */
  readonly host: string;
  /** Its process id on that host. */
  readonly pid: number;
}

/** The class of this package's errors, beside `AbortError` and the errors of a request's handler. */
export class MeshError extends RdmcError<MeshErrorCode> {
  override readonly name = 'MeshError';
  /** The members that did not join in time; only on a time-out of `join`. */
  readonly missing: readonly MissingMember[] | undefined;
  /** The process that has the id; only with ERR_RDMC_ID_IN_USE and ERR_RDMC_REPLACED, where it is known. */
  readonly holder: ProcessName | undefined;

  constructor(code: MeshErrorCode, message: string, details: MeshErrorDetails = {}) {
    super(code, message, details);
    this.missing = details.missing;
    this.holder = details.holder;
  }
}

/**
 * A request's handler on the other member threw. `code` is the code of that error (for example
 * one of another package), or `ERR_RDMC_MESH_REMOTE` where it did not have one; `category` is that of the code.
 */
export class MeshRemoteError extends RdmcError {
  override readonly name = 'MeshRemoteError';

  constructor(memberId: number, code: string, message: string) {
    super(code, message, { memberId });
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
