import { types } from 'node:util';
import { GroupError } from './errors.js';
import type { RegionRange } from './group-options.js';

/** Whether a message was given as bytes: a Uint8Array, such as a Buffer, also one over a SharedArrayBuffer. */
export function isBytes(given: unknown): given is Uint8Array {
  return types.isUint8Array(given);
}

/**
 * The bytes to send. @throws GroupError ERR_RDMC_INVALID_MESSAGE for a part that the bytes do not have, and for a buffer
 * that was detached
 */
export function messageBytes(
  bytes: Uint8Array,
  part: Pick<RegionRange, 'offset' | 'byteLength'>,
): Uint8Array {
  if (isDetached(bytes)) throw detached();
  const { offset = 0, byteLength = bytes.byteLength - offset } = part;
  const fits = isSize(offset) && isSize(byteLength) && offset + byteLength <= bytes.byteLength;
  if (fits) return byteLength === bytes.byteLength ? bytes : bytes.subarray(offset, offset + byteLength);
  throw invalid(
    `send: ${String(byteLength)} bytes from offset ${String(offset)} are not in the ${bytes.byteLength} bytes that were given`,
  );
}

export function lengthOf(parts: readonly Uint8Array[]): number {
  let byteLength = 0;
  for (const part of parts) byteLength += part.byteLength;
  return byteLength;
}

/**
 * Copies the parts of a message, one after the other.
 * @throws GroupError ERR_RDMC_INVALID_MESSAGE if a buffer was detached or resized since the call
 */
export function copyParts(parts: readonly Uint8Array[], byteLength: number, target: Uint8Array): void {
  if (lengthOf(parts) !== byteLength) throw detached();
  let at = 0;
  for (const part of parts) {
    target.set(part, at);
    at += part.byteLength;
  }
}

/** @throws GroupError ERR_RDMC_INVALID_MESSAGE, with advice, for values that are neither bytes nor a region */
export function refuseOthers(given: unknown): void {
  if (typeof given === 'string') {
    throw invalid(
      "send: a message is bytes, not text; give Buffer.from(text), and receivers read it as 'utf8'",
    );
  }
  if (ArrayBuffer.isView(given)) {
    throw invalid(
      `send: a message is a Uint8Array or a region, not a ${given.constructor.name}; ` +
        'give new Uint8Array(view.buffer, view.byteOffset, view.byteLength)',
    );
  }
  if (types.isAnyArrayBuffer(given)) {
    throw invalid('send: a message is a Uint8Array or a region; give new Uint8Array(buffer)');
  }
}

/**
 * Checks the messages of `sendMany`. @throws GroupError ERR_RDMC_INVALID_MESSAGE for a value that is not an array, and as
 * `send` for its messages
 */
export function checkMessages(messages: readonly Uint8Array[]): void {
  if (!Array.isArray(messages)) throw invalid('sendMany: needs an array of Uint8Arrays');
  for (const bytes of messages) {
    if (!isBytes(bytes)) {
      refuseOthers(bytes);
      throw invalid('sendMany: a message is a Uint8Array; give regions to send()');
    }
    if (isDetached(bytes)) throw detached();
  }
}

/** The length of a detached buffer is 0, as that of an empty one. */
function isDetached(bytes: Uint8Array): boolean {
  if (bytes.byteLength > 0) return false;
  try {
    new Uint8Array(bytes.buffer, 0, 0);
    return false;
  } catch {
    return true;
  }
}

/** The error for bytes that changed their length before they were copied. */
export function detached(): GroupError {
  return invalid(
    'send: the bytes were detached or resized, for example by a transfer to another thread, before they were copied; ' +
      'keep them until send resolves',
  );
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function invalid(message: string): GroupError {
  return new GroupError('ERR_RDMC_INVALID_MESSAGE', message);
}
