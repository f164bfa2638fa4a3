import {
  AbortError,
  abortErrors,
  codeOf,
  errorTable,
  messageOf,
  optionErrors,
  RdmcError,
} from '@rdmc/common';
import type { CastSummary } from './cast-summary.js';

export { AbortError, codeOf, messageOf };

/** The codes of this package, and `ERR_RDMC_ABORTED`. They are stable; messages are not. */
export const castErrors = errorTable({
  ...optionErrors,
  ...abortErrors,
  ERR_RDMC_NOT_FOUND: [
    'resource',
    'a path, or the directory of a receiver, does not exist',
    'give a path that exists',
  ],
  ERR_RDMC_DUPLICATE_NAME: [
    'usage',
    'two paths would arrive under one name',
    'cast them one after the other',
  ],
  ERR_RDMC_INVALID_PATTERN: [
    'usage',
    'a pattern of a filter is malformed',
    'correct it; a backslash before a special character makes it a plain one',
  ],
  ERR_RDMC_UNREADABLE: [
    'resource',
    'an entry cannot be read at the sender',
    'check its permissions and the disk',
  ],
  ERR_RDMC_UNSUPPORTED_TYPE: ['resource', 'an entry is neither file, directory nor link', 'leave it out'],
  ERR_RDMC_FILE_CHANGED: [
    'resource',
    'a file changed while it was read',
    'cast it again when nothing writes to it',
  ],
  ERR_RDMC_ATTRIBUTES_TOO_LARGE: [
    'resource',
    'an entry has more extended attributes than a cast carries',
    'cast it without archive',
  ],
  ERR_RDMC_ATTRIBUTES_UNAVAILABLE: [
    'resource',
    'extended attributes cannot be read or set on this platform',
    'install the package @rdmc/cast with its dependencies, or cast without archive',
  ],
  ERR_RDMC_COMPRESSION_UNSUPPORTED: [
    'refused',
    'a receiver cannot decompress what the sender would send',
    'cast without compression, or install the same release at both ends',
  ],
  ERR_RDMC_DECOMPRESS_FAILED: [
    'internal',
    'a compressed piece of a file becomes something else than was announced',
    'cast again',
  ],
  ERR_RDMC_DUPLICATE_HOST: [
    'usage',
    'a receiver is named twice, perhaps under two names',
    'name each receiver once',
  ],
  ERR_RDMC_UNKNOWN_HOST: ['peer-lost', 'a name does not resolve', 'check it, or give the address'],
  ERR_RDMC_CAST_UNREACHABLE: [
    'peer-lost',
    'nothing answers there in time',
    'check that a receiver runs there, and the firewall',
  ],
  ERR_RDMC_KEY_REQUIRED: ['usage', 'an address beyond loopback needs a key', 'give all the same key'],
  ERR_RDMC_KEY_MISMATCH: ['refused', 'the keys differ, or only one end has one', 'give both the same key'],
  ERR_RDMC_WRONG_ROLE: [
    'usage',
    'a key is for fetching only',
    'give the key that it was made from, or use it with `fetchFiles` (`rdmc fetch`)',
  ],
  ERR_RDMC_ORIGIN_NOT_PROVED: [
    'refused',
    'a server does not have the key that the key for fetching was made from',
    'check the address; make the key for fetching from the key of that server',
  ],
  ERR_RDMC_VERSION_MISMATCH: [
    'refused',
    'the two ends have different versions',
    'run the same version at both',
  ],
  ERR_RDMC_ADDRESS_IN_USE: [
    'resource',
    'the port is taken',
    'choose another port, or end the process that uses it',
  ],
  ERR_RDMC_LISTEN_FAILED: [
    'resource',
    'the receiver cannot listen on the address',
    'give an address of this host',
  ],
  ERR_RDMC_BUSY: ['resource', 'the receiver has its maximum of casts', 'try again later'],
  ERR_RDMC_NO_SPACE: ['resource', 'the directory of a receiver has too little room', 'make room there'],
  ERR_RDMC_READ_ONLY: ['refused', 'the directory of a receiver is read-only', 'mount it for writing'],
  ERR_RDMC_PERMISSION: [
    'refused',
    'the system refuses it to this user',
    'the message says which right is missing',
  ],
  ERR_RDMC_NOT_A_DIRECTORY: ['resource', 'the path of a receiver is not a directory', 'give a directory'],
  ERR_RDMC_WRITE_FAILED: ['resource', 'an entry cannot be stored', 'check the disk of the receiver'],
  ERR_RDMC_SEVERAL_FILES: [
    'refused',
    'the receiver takes one file or stream, and the cast is not one',
    'cast one file, or cast to a receiver with a directory',
  ],
  ERR_RDMC_INVALID_SAFETENSORS: [
    'resource',
    'a .safetensors file does not have a valid header',
    'check the file at the sender; it may be a pointer of Git LFS',
  ],
  ERR_RDMC_UNKNOWN_SIZE: [
    'resource',
    'memory cannot be given for a stream whose length is not known',
    'cast a file, or receive into a directory or a sink',
  ],
  ERR_RDMC_SHARED_NAME_IN_USE: [
    'refused',
    'the name of shared memory belongs to another receiver or program',
    'choose another name, or end that receiver',
  ],
  ERR_RDMC_SHARED_MEMORY_GONE: [
    'closed',
    'the cast in the shared memory has failed, or was replaced',
    'follow the name again for the next cast',
  ],
  ERR_RDMC_AFTER_CAST_FAILED: [
    'resource',
    'everything is stored; the function or command after the cast failed',
    'see the message; the files stay',
  ],
  ERR_RDMC_UNSAFE_PATH: ['refused', 'a path leads out of the directory', 'check the sender'],
  ERR_RDMC_PATH_CONFLICT: ['refused', 'an entry of another kind has that name', 'move it away'],
  ERR_RDMC_SHARED_DIRECTORY: ['refused', 'two receivers have one directory', 'give each its own'],
  ERR_RDMC_OTHER_FILE_SYSTEM: [
    'refused',
    'a directory below is another file system',
    'receive into that one',
  ],
  ERR_RDMC_HASH_MISMATCH: [
    'internal',
    'a file or a message arrived with another checksum',
    'check the memory of the hosts, and whether you can trust all of them',
  ],
  ERR_RDMC_DECRYPT_FAILED: [
    'refused',
    'encrypted bytes were altered, or are not those of the message',
    'cast again; find what alters the bytes',
  ],
  ERR_RDMC_ENCRYPTION_REQUIRED: [
    'refused',
    'the receiver refuses casts that are not encrypted',
    'cast with encryption, which is the default',
  ],
  ERR_RDMC_NONCE_REFUSED: [
    'resource',
    'an encrypted cast has used all numbers for its messages',
    'use larger messages, or several casts',
  ],
  ERR_RDMC_LINK_TARGET_MISSING: [
    'resource',
    'the file of a hard link is missing',
    'see why it did not arrive',
  ],
  ERR_RDMC_PARTIAL: ['resource', 'a receiver lacks entries', 'see `problems`'],
  ERR_RDMC_RECEIVER_STALLED: [
    'peer-lost',
    'a receiver made no progress for too long',
    'check its disk, or raise `stallTimeoutMs`',
  ],
  ERR_RDMC_RECEIVER_LOST: [
    'peer-lost',
    'the connection of a receiver ended',
    'find what ended it, and cast again',
  ],
  ERR_RDMC_RECEIVER_CLOSED: ['closed', 'the receiver is closed', 'start another receiver'],
  ERR_RDMC_SENDER_LOST: ['peer-lost', 'the connection of the sender ended', 'find what ended it'],
  ERR_RDMC_TOO_FEW_RECEIVERS: [
    'peer-lost',
    'fewer receivers than `waitFor` answered; nothing was sent',
    'start the receivers, or raise `joinWindowMs`',
  ],
  ERR_RDMC_NO_RECEIVERS: ['peer-lost', 'all receivers failed', 'see `summary` for each'],
  ERR_RDMC_CAST_PROTOCOL: ['refused', 'the other end violated the protocol', 'run the same version at both'],
  ERR_RDMC_ITERATOR_TAKEN: [
    'usage',
    'progress or events are being iterated already',
    'share what the first iterator yields',
  ],
});
/** The stable codes of this package's errors; `castErrors` has their meaning. */
export type CastErrorCode = keyof typeof castErrors;

/** What a {@link CastError} knows beside its code and message. */
export interface CastErrorDetails {
  /** The error that led to this one. */
  readonly cause?: unknown;
  /** The receiver the error is about, as `host:port`. */
  readonly receiver?: string | undefined;
  /** The outcome of every receiver, where a cast failed with all of them. */
  readonly summary?: CastSummary | undefined;
}

/**
 * The error class of this package, beside `AbortError`. Distinguish cases by `code`: a {@link CastErrorCode}, or
 * that of a layer below.
 */
export class CastError extends RdmcError {
  override readonly name = 'CastError';
  /** The receiver that the error is about, as `host:port`; undefined for an error of the whole cast. */
  readonly receiver: string | undefined;
  /** The outcome of every receiver, when a cast failed with all of them; else undefined. */
  readonly summary: CastSummary | undefined;

  constructor(code: string, message: string, details: CastErrorDetails = {}) {
    super(code, message, details);
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

/** The error of work that a receiver still has for a cast that it has given up. */
export function givenUp(): CastError {
  return new CastError('ERR_RDMC_ABORTED', 'the receiver has given up this cast');
}

/** Errors of layers below keep their codes; those without one of ours get `fallback`. */
export function toCastError(error: unknown, fallback: CastErrorCode, message = messageOf(error)): CastError {
  if (error instanceof CastError) return error;
  const code = codeOf(error);
  if (!code?.startsWith('ERR_RDMC_')) return new CastError(fallback, message, { cause: error });
  return new CastError(code, messageOf(error), { cause: error });
}
