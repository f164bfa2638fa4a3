/**
 * Frames between servers, on connections that the mesh opens, one per direction. All numbers are little endian.
 *
 * ```
 * type         payload
 * 2 REQUESTS   u32 epoch, { u32 id, u8 version, u32 length, command }…    the slot table's epoch that they were sent by
 * 3 REPLIES    { u32 id, u32 length, reply }…                      in any order; NOT_OWNER as length: not done here
 * 5 HAND_OVER  u32 number, { u8 type, u32 length, payload }…       entries of slots that are handed over
 * ```
 *
 * The frames of a hand-over are identified by the id of their connection, the session.
 */
import { Buffer } from 'node:buffer';
import { KvError } from '../errors.js';
import type { RespVersion } from '../resp/writer.js';

export const PeerFrame = { REQUESTS: 2, REPLIES: 3, HAND_OVER: 5 } as const;
export const NOT_OWNER = 0xffff_ffff;
/** The purpose of these connections. */
export const PEER_PURPOSE = 'rdmc kv';

export const REQUEST_HEADER_BYTES = 9;
/** Of the epoch, before the first request. */
export const REQUESTS_EPOCH_BYTES = 4;
const REPLY_HEADER_BYTES = 8;
const RECORD_HEADER_BYTES = 5;

export function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

export function writeRequestHeader(
  to: Buffer,
  at: number,
  id: number,
  version: RespVersion,
  length: number,
): void {
  to.writeUInt32LE(id, at);
  to[at + 4] = version;
  to.writeUInt32LE(length, at + 5);
}

/** The epoch of the slot table that requests were sent by. */
export function epochOf(payload: Buffer): number {
  if (payload.length < REQUESTS_EPOCH_BYTES) throw malformed();
  return payload.readUInt32LE(0);
}

/** Behind the epoch. */
export function* requestsIn(payload: Buffer): Generator<{ id: number; version: RespVersion; bytes: Buffer }> {
  for (let at = REQUESTS_EPOCH_BYTES; at < payload.length; ) {
    if (payload.length - at < REQUEST_HEADER_BYTES) throw malformed();
    const [id, version, length] = [payload.readUInt32LE(at), payload[at + 4]!, payload.readUInt32LE(at + 5)];
    at += REQUEST_HEADER_BYTES;
    if (length > payload.length - at || (version !== 2 && version !== 3)) throw malformed();
    yield { id, version, bytes: payload.subarray(at, at + length) };
    at += length;
  }
}

/** `reply` is undefined where the other server does not own the slot. */
export function* repliesIn(payload: Buffer): Generator<{ id: number; reply: Buffer | undefined }> {
  for (let at = 0; at < payload.length; ) {
    if (payload.length - at < REPLY_HEADER_BYTES) throw malformed();
    const [id, length] = [payload.readUInt32LE(at), payload.readUInt32LE(at + 4)];
    at += REPLY_HEADER_BYTES;
    if (length === NOT_OWNER) yield { id, reply: undefined };
    else {
      if (length > payload.length - at) throw malformed();
      yield { id, reply: payload.subarray(at, at + length) };
      at += length;
    }
  }
}

export function recordHeader(type: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(RECORD_HEADER_BYTES);
  bytes[0] = type;
  bytes.writeUInt32LE(length, 1);
  return bytes;
}

export function* recordsIn(payload: Buffer): Generator<{ type: number; payload: Buffer }> {
  for (let at = 4; at < payload.length; ) {
    if (payload.length - at < RECORD_HEADER_BYTES) throw malformed();
    const [type, length] = [payload[at]!, payload.readUInt32LE(at + 1)];
    at += RECORD_HEADER_BYTES;
    if (length > payload.length - at) throw malformed();
    yield { type, payload: payload.subarray(at, at + length) };
    at += length;
  }
}

function malformed(): KvError {
  return new KvError('ERR_RDMC_KV_PROTOCOL', 'a frame of another server is malformed');
}
