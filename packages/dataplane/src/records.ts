import { MAX_KIND } from './constants.js';
import { DataPlaneError, ProtocolError } from './errors.js';

/**
 * Second word of a record: protocol number and kind.
 * @throws DataPlaneError ERR_RDMC_INVALID_OPTION for a kind out of range
 */
export function tagOf(protocol: number, kind: number): number {
  if (!Number.isInteger(kind) || kind < 0 || kind > MAX_KIND) {
    throw new DataPlaneError(
      'ERR_RDMC_INVALID_OPTION',
      `The kind of a record must be an integer from 0 to ${MAX_KIND}, not ${String(kind)}`,
    );
  }
  return ((protocol << 16) | kind) >>> 0;
}

/** The answer to a failed command, and the payload of the event that a protocol has ended. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** The number of a protocol that has ended. */
  readonly protocol?: number;
}

/** Encodes a failure as JSON; a message that is too long is truncated. */
export function encodeFailure(failure: Failure, maxBytes: number): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = encoder.encode(JSON.stringify(failure));
  if (encoded.byteLength <= maxBytes) return encoded;
  // One UTF-16 unit takes at most 6 bytes in JSON.
  const room = Math.max(0, Math.floor((maxBytes - 96) / 6) - failure.code.length);
  return encoder.encode(JSON.stringify({ ...failure, message: failure.message.slice(0, room) }));
}

export function decodeFailure(payload: Uint8Array): Failure {
  return JSON.parse(new TextDecoder().decode(payload)) as Failure;
}

export function protocolError({ code, message }: Failure): ProtocolError {
  return new ProtocolError(code, message);
}
