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
      `A kind is a whole number from 0 to ${MAX_KIND}, not ${String(kind)}`,
    );
  }
  return ((protocol << 16) | kind) >>> 0;
}

/** Payload of a failure: `code` and `message`, as JSON; a message that is too long is cut. */
export function encodeFailure(code: string, message: string, maxBytes: number): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = encoder.encode(JSON.stringify({ code, message }));
  if (encoded.byteLength <= maxBytes) return encoded;
  // One UTF-16 unit takes at most 6 bytes in JSON.
  const room = Math.max(0, Math.floor((maxBytes - 64) / 6) - code.length);
  return encoder.encode(JSON.stringify({ code, message: message.slice(0, room) }));
}

export function decodeFailure(payload: Uint8Array): ProtocolError {
  const { code, message } = JSON.parse(new TextDecoder().decode(payload)) as Record<string, string>;
  return new ProtocolError(code ?? 'ERR_RDMC_PROTOCOL', message ?? '');
}
