/**
 * HELLO and REJECT, the first frames of a connection.
 *
 * The dialling member sends HELLO. The other answers with HELLO, or with REJECT and closes. The dialling
 * member answers HELLO with CONFIRM. Only then do both count the pair as connected.
 *
 * HELLO payload (little endian). Magic and version keep their place in every version.
 *
 *   byte  0         8      10    12     16    20            52         68             72    74    76
 *         +---------+-------+-----+------+-----+-------------+----------+--------------+-----+-----+--------+
 *         | magic   |version| kind| from | to  |member digest| instance |maxFrameBytes |least|most | object |
 *         |RDMCMESH |  u16  | u16 | u32  | u32 |  SHA-256    | 16 bytes |     u32      | u16 | u16 |  JSON  |
 *         +---------+-------+-----+------+-----+-------------+----------+--------------+-----+-----+--------+
 *
 *   kind   the connection                                       object
 *   0      the pair's own connection, in a mesh with a list      the member's attributes
 *   1      a further one, between members of a mesh that formed  {purpose, id}: text, and 32 hexadecimal digits
 *   2      the pair's own connection, members come and go        drawn in live/live-hello.ts
 *   3      an introduction of a member, drawn in live/frames.ts   the same
 *
 *   The digest is that of the list of members (kind 0, and 1 there), or that of the cluster id (kinds 2 and 3, and 1 there).
 *   `to` is not read in an introduction: its caller knows an address only.
 *   least, most: the levels that the sender speaks (`Levels` of @rdmc/common). The connection has the highest common one. This
 *   drawing is the same at every level; objects may get further fields, which others ignore.
 *
 * REJECT payload
 *
 *   byte  0       2
 *         +-------+-------------------------+
 *         |version| {code, message} as JSON |   holder: the process that has the id, {host, pid}, if there is one
 *         |  u16  |                         |
 *         +-------+-------------------------+
 */
import { FIRST_LEVEL, type Levels } from '@rdmc/common';
import { openRecord, pattern, text } from '@rdmc/common/shapes';
import {
  MAX_ATTRIBUTES_BYTES,
  MAX_LIVE_HELLO_BYTES,
  MAX_MAX_FRAME_BYTES,
  MAX_PURPOSE_BYTES,
  MIN_MAX_FRAME_BYTES,
} from './constants.js';
import { type ProcessName, protocolError } from './errors.js';
import { decodeShape, encodeFrame, FrameType, refusal } from './frames.js';
import { decodeJson, encodeJson } from './json.js';
import { decodeLiveHello, type LiveHello } from './live/live-hello.js';
import { isMemberId } from './members.js';
import { attributesProblem, type MeshAttributes } from './options.js';

const MAGIC = Buffer.from('RDMCMESH', 'latin1');
const VERSION_AT = 8;
const KIND_AT = 10;
const FROM_AT = 12;
const TO_AT = 16;
const DIGEST_AT = 20;
const INSTANCE_AT = 52;
const MAX_FRAME_AT = 68;
const LEAST_AT = 72;
const MOST_AT = 74;
const ATTRIBUTES_AT = 76;

/** Bounds the first frame of a connection: type byte and payload. */
export const MAX_HELLO_FRAME_BYTES = 1 + ATTRIBUTES_AT + MAX_ATTRIBUTES_BYTES + MAX_LIVE_HELLO_BYTES;

const KIND_OF_LINK = 0;
const KIND_OF_CONNECTION = 1;
const KIND_OF_LIVE_LINK = 2;
const KIND_OF_INTRODUCTION = 3;
/** Length of the id of a further connection. */
export const CONNECTION_ID_BYTES = 16;
const CONNECTION_ID = new RegExp(`^[0-9a-f]{${2 * CONNECTION_ID_BYTES}}$`);

/** A connection beside the one of the mesh. */
export interface ConnectionName {
  /** The application's name for its use. */
  readonly purpose: string;
  readonly id: string;
}

export interface Hello {
  readonly version: number;
  readonly from: number;
  readonly to: number;
  readonly digest: Buffer;
  readonly instance: Buffer;
  readonly maxFrameBytes: number;
  readonly levels: Levels;
  readonly attributes: MeshAttributes;
  /** Undefined: the pair's own connection of the mesh. */
  readonly connection?: ConnectionName | undefined;
  /** In a mesh whose members come and go. */
  readonly live?: LiveHello | undefined;
}

/** A HELLO of another version: the layout behind the version is not known. */
export interface ForeignHello {
  readonly version: number;
  readonly from?: undefined;
}

export interface Reject {
  readonly version: number;
  readonly code: string;
  readonly message: string;
  readonly holder?: ProcessName | undefined;
}

export function encodeHello(hello: Hello): Buffer {
  const head = Buffer.alloc(ATTRIBUTES_AT);
  MAGIC.copy(head, 0);
  head.writeUInt16LE(hello.version, VERSION_AT);
  head.writeUInt32LE(hello.from, FROM_AT);
  head.writeUInt32LE(hello.to, TO_AT);
  hello.digest.copy(head, DIGEST_AT);
  hello.instance.copy(head, INSTANCE_AT);
  head.writeUInt32LE(hello.maxFrameBytes, MAX_FRAME_AT);
  head.writeUInt16LE(kindOf(hello), KIND_AT);
  head.writeUInt16LE(hello.levels.least, LEAST_AT);
  head.writeUInt16LE(hello.levels.most, MOST_AT);
  const { connection: name, live, attributes } = hello;
  return encodeFrame(
    FrameType.HELLO,
    head,
    encodeJson(name ?? (live && { ...live, attributes }) ?? attributes),
  );
}

function kindOf({ connection: name, live }: Hello): number {
  if (name !== undefined) return KIND_OF_CONNECTION;
  if (live === undefined) return KIND_OF_LINK;
  return live.isIntroduction ? KIND_OF_INTRODUCTION : KIND_OF_LIVE_LINK;
}

/** Throws ERR_RDMC_MESH_PROTOCOL for bytes that are not a HELLO of any version. */
export function decodeHello(payload: Buffer, ownVersion: number): Hello | ForeignHello {
  if (payload.length < KIND_AT || !payload.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw protocolError('the first frame is not a HELLO of this mesh');
  }
  const version = payload.readUInt16LE(VERSION_AT);
  if (version !== ownVersion) return { version };
  const kind = payload.length < ATTRIBUTES_AT ? undefined : payload.readUInt16LE(KIND_AT);
  if (kind === undefined || kind > KIND_OF_INTRODUCTION) {
    throw protocolError('a HELLO is too short or has an unknown kind');
  }
  const from = payload.readUInt32LE(FROM_AT);
  const to = payload.readUInt32LE(TO_AT);
  const maxFrameBytes = payload.readUInt32LE(MAX_FRAME_AT);
  if (!isMemberId(from) || !isMemberId(to)) throw protocolError('a HELLO does not name members');
  if (maxFrameBytes < MIN_MAX_FRAME_BYTES || maxFrameBytes > MAX_MAX_FRAME_BYTES) {
    throw protocolError(`a HELLO has a frame limit of ${maxFrameBytes} bytes, which is not valid`);
  }
  const levels = { least: payload.readUInt16LE(LEAST_AT), most: payload.readUInt16LE(MOST_AT) };
  if (levels.least < FIRST_LEVEL || levels.least > levels.most) {
    throw protocolError('a HELLO has levels that are not valid');
  }
  return {
    version,
    levels,
    from,
    to,
    // Copies: the payload is a view of a larger chunk that should not live as long as the link.
    digest: Buffer.from(payload.subarray(DIGEST_AT, INSTANCE_AT)),
    instance: Buffer.from(payload.subarray(INSTANCE_AT, MAX_FRAME_AT)),
    maxFrameBytes,
    ...decodeDetails(kind, payload.subarray(ATTRIBUTES_AT)),
  };
}

const connection = openRecord({ purpose: text(), id: pattern(CONNECTION_ID) });

function decodeDetails(kind: number, bytes: Buffer): Pick<Hello, 'attributes' | 'connection' | 'live'> {
  if (kind === KIND_OF_LINK) return { attributes: checkedAttributes(decodeJson(bytes)) };
  if (kind !== KIND_OF_CONNECTION) {
    const { attributes, ...live } = decodeLiveHello(bytes, kind === KIND_OF_INTRODUCTION);
    return { attributes: checkedAttributes(attributes), live };
  }
  const named = decodeShape(connection, bytes);
  if (!isPurpose(named.purpose)) throw protocolError('a HELLO names a connection that is not valid');
  return { attributes: {}, connection: named };
}

export function isPurpose(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0) return false;
  return Buffer.byteLength(value) <= MAX_PURPOSE_BYTES;
}

function checkedAttributes(attributes: unknown): MeshAttributes {
  const problem = attributesProblem(attributes);
  if (problem !== undefined) throw protocolError(`attributes in a HELLO: ${problem}`);
  return Object.freeze(attributes) as MeshAttributes;
}

export function encodeReject({ version, code, message, holder }: Reject): Buffer {
  const head = Buffer.alloc(2);
  head.writeUInt16LE(version, 0);
  return encodeFrame(FrameType.REJECT, head, encodeJson({ code, message, holder }));
}

export function decodeReject(payload: Buffer): Reject {
  if (payload.length < 2) throw protocolError('a REJECT is too short');
  return { version: payload.readUInt16LE(0), ...decodeShape(refusal, payload.subarray(2)) };
}
