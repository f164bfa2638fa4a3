/**
 * The body of a message, a request or an answer. One byte of its frame is the kind of the body:
 *
 *   kind   body
 *   0      JSON in UTF-8
 *   1      bytes, as they are
 *   2      only in a REPLY: an error, {code, message} as JSON
 */
import { MeshError, messageOf, protocolError } from './errors.js';
import { decodeJson } from './json.js';

export const BodyKind = { JSON: 0, BYTES: 1, ERROR: 2 } as const;

export interface Body {
  readonly kind: number;
  readonly bytes: Buffer;
}

/** A Uint8Array as it is, anything else as JSON. @throws MeshError ERR_RDMC_MESH_INVALID_BODY */
export function encodeBody(value: unknown): Body {
  if (value instanceof Uint8Array) {
    return { kind: BodyKind.BYTES, bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength) };
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    throw invalidBody(`a body of class ${value.constructor.name} cannot be sent; make a Uint8Array of it`);
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw invalidBody(
      `the body is not a Uint8Array, and it cannot be written as JSON: ${messageOf(cause)}`,
      cause,
    );
  }
  if (text === undefined)
    throw invalidBody(`a body of type ${typeof value} cannot be written as JSON; use null`);
  return { kind: BodyKind.JSON, bytes: Buffer.from(text) };
}

/** @throws MeshError ERR_RDMC_MESH_PROTOCOL for an unknown kind, and for text that is not JSON */
export function decodeBody({ kind, bytes }: Body): unknown {
  if (kind === BodyKind.JSON) return decodeJson(bytes);
  if (kind === BodyKind.BYTES) return ownBytes(bytes);
  throw protocolError(`a body has the unknown kind ${kind}`);
}

/**
 * A body is a view of the chunk that it arrived in, and keeps the chunk alive. Where the chunk is more than twice as large,
 * a copy is kept: else a peer could make this member keep much more than is counted.
 */
function ownBytes(bytes: Buffer): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (buffer.byteLength > 2 * byteLength) return Uint8Array.from(bytes);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function invalidBody(message: string, cause?: unknown): MeshError {
  return new MeshError('ERR_RDMC_MESH_INVALID_BODY', message, { cause });
}
