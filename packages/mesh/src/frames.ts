/**
 * The frames of each connection of the mesh, inside TLS where a key is used.
 *
 * All integers are little endian. `length` counts what follows it, so it is 1 + the payload's size.
 *
 *   byte  0        4     5
 *         +--------+-----+------------------+
 *         | length | type|  payload         |
 *         |  u32   | u8  |  length - 1      |
 *         +--------+-----+------------------+
 *
 *   type            payload
 *    1 HELLO        drawn in hello.ts
 *    2 REJECT       drawn in hello.ts
 *    3 CONFIRM      none        the dialling member has accepted the HELLO; the pair is connected
 *    4 READY        none        the sender is connected to all members
 *    5 HEARTBEAT    none; where members come and go, the digest of the roster (8 bytes); where the list is fixed, a zero
 *                   byte if the sender does not watch the receiver closely (close-peers.ts)
 *    6 MESSAGE      u8 kind | u16 topic length | topic | body
 *    7 REQUEST      u32 request | u8 kind | u16 topic length | topic | body
 *    8 REPLY        u32 request | u8 kind | body
 *    9 FAILURE      u32 member | u32 reporter | {code, reason}
 *   10 LEAVE        none        the sender closes its mesh; nothing follows
 *   11 ABORT        {code, message, final}   the sender stopped joining; nothing follows
 *   12 ROSTER       drawn in live/frames.ts, like those below
 *   13 INTRODUCE
 *   14 ADMIT
 *   15 STOP
 *
 * Topics are UTF-8, and braces are JSON in UTF-8. The kind of a body (JSON, bytes, or an error) is drawn in body.ts.
 */
import {
  flag,
  mapped,
  openRecord,
  optional,
  pattern,
  readShape,
  type Shape,
  text,
  whole,
  withDefault,
} from '@rdmc/common/shapes';
import { type Body, BodyKind } from './body.js';
import {
  MAX_CODE_CHARACTERS,
  MAX_HOST_CHARACTERS,
  MAX_REASON_CHARACTERS,
  MAX_TOPIC_BYTES,
} from './constants.js';
import { messageOf, protocolError } from './errors.js';
import { decodeJson, encodeJson } from './json.js';
import { isMemberId } from './members.js';

export const FrameType = {
  HELLO: 1,
  REJECT: 2,
  CONFIRM: 3,
  READY: 4,
  HEARTBEAT: 5,
  MESSAGE: 6,
  REQUEST: 7,
  REPLY: 8,
  FAILURE: 9,
  LEAVE: 10,
  ABORT: 11,
  ROSTER: 12,
  INTRODUCE: 13,
  ADMIT: 14,
  STOP: 15,
} as const;

export const LENGTH_BYTES = 4;
const HEADER_BYTES = LENGTH_BYTES + 1;

/** A frame of a connection. */
export interface Frame {
  /** Kind of the frame, 0 to 255. */
  readonly type: number;
  /** Its bytes; empty for a frame without a payload. */
  readonly payload: Buffer;
}

/** A frame with this type and the concatenation of these parts as payload, for `FrameReader`. */
export function encodeFrame(type: number, ...parts: readonly Buffer[]): Buffer {
  const payloadBytes = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payloadBytes);
  frame.writeUInt32LE(payloadBytes + 1, 0);
  frame[LENGTH_BYTES] = type;
  let offset = HEADER_BYTES;
  for (const part of parts) offset += part.copy(frame, offset);
  return frame;
}

export function encodeMessage(topic: Buffer, { kind, bytes }: Body): Buffer {
  return encodeFrame(FrameType.MESSAGE, Buffer.of(kind), u16(topic.length), topic, bytes);
}

export function encodeRequest(request: number, topic: Buffer, { kind, bytes }: Body): Buffer {
  return encodeFrame(FrameType.REQUEST, u32(request), Buffer.of(kind), u16(topic.length), topic, bytes);
}

export function encodeReply(request: number, { kind, bytes }: Body): Buffer {
  return encodeFrame(FrameType.REPLY, u32(request), Buffer.of(kind), bytes);
}

/** A member's failure, as it is sent to members and given to the application. */
export interface MeshFailure {
  /** The member that failed. */
  readonly member: number;
  /** The cause, for people. */
  readonly reason: string;
  /** `ERR_RDMC_MESH_MEMBER_LOST`, `..._SILENT`, `..._REPORTED`, or another `ERR_RDMC_*` code. */
  readonly code: string;
  /** The member that reported it. */
  readonly reporter: number;
}

export function encodeFailure({ member, reporter, code, reason }: MeshFailure): Buffer {
  return encodeFrame(FrameType.FAILURE, u32(member), u32(reporter), encodeJson({ code, reason }));
}

/** Codes and texts of another member, with bounds: they are kept, shown and passed on. */
const code = pattern(new RegExp(`^(?=.{0,${MAX_CODE_CHARACTERS}}$)ERR_RDMC_[A-Z0-9_]+$`), 'an error code');
const words = mapped(text(), clipText);
/** Where a process runs. */
export const processName = openRecord({ host: text(MAX_HOST_CHARACTERS), pid: whole(1) });
/** Why a member refuses another, or gives up. */
export const refusal = openRecord({ code, message: words, holder: optional(processName) });
const failure = openRecord({ code, reason: words });
const abort = openRecord({ code, message: words, final: withDefault(flag, false) });
/** The code is whatever a handler threw. */
const errorReply = openRecord({ code: text(), message: text() });

export interface AbortNotice {
  readonly code: string;
  readonly message: string;
  /** Whether waiting for that member is useless: its error stays until a person corrects it. */
  readonly final: boolean;
}

export function encodeAbort(notice: AbortNotice): Buffer {
  return encodeFrame(FrameType.ABORT, encodeJson(notice));
}

export interface TopicPayload {
  readonly topic: string;
  readonly body: Body;
}

const TOPIC_AT = 3;

export function decodeMessage(payload: Buffer): TopicPayload {
  if (payload.length < TOPIC_AT) throw protocolError('a message is too short for its topic');
  const kind = payload[0]!;
  if (kind !== BodyKind.JSON && kind !== BodyKind.BYTES)
    throw protocolError(`a message has a body of the unknown kind ${kind}`);
  const end = TOPIC_AT + payload.readUInt16LE(1);
  const topicBytes = end - TOPIC_AT;
  if (topicBytes === 0 || end > payload.length || topicBytes > MAX_TOPIC_BYTES) {
    throw protocolError(`a message announces a topic of ${topicBytes} bytes`);
  }
  return { topic: payload.toString('utf8', TOPIC_AT, end), body: { kind, bytes: payload.subarray(end) } };
}

export function decodeRequest(payload: Buffer): TopicPayload & { readonly request: number } {
  if (payload.length < 4) throw protocolError('a request is too short for its number');
  return { request: payload.readUInt32LE(0), ...decodeMessage(payload.subarray(4)) };
}

export function decodeReply(payload: Buffer): { readonly request: number; readonly body: Body } {
  const kind = payload[4];
  if (kind === undefined || kind > BodyKind.ERROR)
    throw protocolError('a reply has a body of an unknown kind');
  return { request: payload.readUInt32LE(0), body: { kind, bytes: payload.subarray(5) } };
}

export function decodeFailure(payload: Buffer): MeshFailure {
  if (payload.length < 8) throw protocolError('a FAILURE is too short');
  const member = payload.readUInt32LE(0);
  const reporter = payload.readUInt32LE(4);
  if (!isMemberId(member) || !isMemberId(reporter))
    throw protocolError('a FAILURE has a member id that is not valid');
  return { member, reporter, ...decodeShape(failure, payload.subarray(8)) };
}

export function decodeAbort(payload: Buffer): AbortNotice {
  return decodeShape(abort, payload);
}

export function decodeErrorBody(body: Buffer): { code: string; message: string } {
  return decodeShape(errorReply, body);
}

/** @throws MeshError ERR_RDMC_MESH_PROTOCOL */
export function decodeShape<T>(shape: Shape<T>, bytes: Buffer): T {
  const value = decodeJson(bytes);
  try {
    return readShape(shape, value);
  } catch (error) {
    throw protocolError(`a body of ${bytes.length} bytes is malformed: ${messageOf(error)}`);
  }
}

export function clipText(text: string): string {
  return text.length > MAX_REASON_CHARACTERS ? `${text.slice(0, MAX_REASON_CHARACTERS - 1)}…` : text;
}

function u16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
