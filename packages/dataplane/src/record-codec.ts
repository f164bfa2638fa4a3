// Encodes and decodes the arguments of records in a ring. See record-table.ts.
import { MAX_NUMBERS } from './constants.js';
import { DataPlaneError, describe } from './errors.js';
import type { Payload } from './record-table.js';

/** A record that was received. Valid until the next one is taken. */
export interface RecordView {
  /** A copy of its bytes. The receiver may keep it. */
  readonly payload: Uint8Array;
  /** One of its numbers, read in place. */
  number(index: number): number;
}

/** A copy of a record. */
export class KeptRecord implements RecordView {
  constructor(readonly payload: Uint8Array) {}

  number(index: number): number {
    return new DataView(this.payload.buffer, this.payload.byteOffset).getFloat64(index * 8, true);
  }
}

/** Up to MAX_NUMBERS arguments; a record with fewer arguments ignores the others. */
// biome-ignore lint/suspicious/noExplicitAny: the types of a record's arguments are those of its table
export type Argument = any;
type Eight<Result> = (
  a?: Argument,
  b?: Argument,
  c?: Argument,
  d?: Argument,
  e?: Argument,
  f?: Argument,
  g?: Argument,
  h?: Argument,
) => Result;
export type Encode = Eight<Uint8Array | undefined>;
export type Handler = Eight<unknown>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** A buffer for the numbers of a record; the ring copies them at once. */
const row = new Float64Array(MAX_NUMBERS);
const rowBytes = Array.from(
  { length: MAX_NUMBERS + 1 },
  (_, count) => new Uint8Array(row.buffer, 0, count * 8),
);

function numbersEncoder(count: number): Encode {
  const encoded = rowBytes[count]!;
  return (a, b, c, d, e, f, g, h) => {
    row[0] = a;
    row[1] = b;
    row[2] = c;
    row[3] = d;
    row[4] = e;
    row[5] = f;
    row[6] = g;
    row[7] = h;
    return encoded;
  };
}

/** Encodes the arguments of a record. The bytes are valid until the next record is encoded. */
export function encoderOf({ shape, count }: Payload<readonly unknown[]>): Encode {
  if (shape === 'numbers') return numbersEncoder(count);
  if (shape === 'json') return (value) => encoder.encode(toJson(value));
  if (shape === 'bytes') return (bytes) => bytes;
  return () => undefined;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    const message = `The value of a json record cannot be encoded as JSON: ${describe(error)}`;
    throw new DataPlaneError('ERR_RDMC_INVALID_OPTION', message, { cause: error });
  }
}

/** @throws DataPlaneError ERR_RDMC_INVALID_OPTION */
export function checkBytes(payload: unknown): asserts payload is Uint8Array {
  if (payload instanceof Uint8Array) return;
  throw new DataPlaneError('ERR_RDMC_INVALID_OPTION', 'The bytes of a record must be a Uint8Array');
}

type Decode = (record: RecordView) => unknown;

/** One function for each count, so that reading a record does not allocate. */
const NUMBERS_DECODERS: readonly ((handler: Handler) => Decode)[] = [
  (handler) => () => handler(),
  (handler) => (r) => handler(r.number(0)),
  (handler) => (r) => handler(r.number(0), r.number(1)),
  (handler) => (r) => handler(r.number(0), r.number(1), r.number(2)),
  (handler) => (r) => handler(r.number(0), r.number(1), r.number(2), r.number(3)),
  (handler) => (r) => handler(r.number(0), r.number(1), r.number(2), r.number(3), r.number(4)),
  (handler) => (r) => handler(r.number(0), r.number(1), r.number(2), r.number(3), r.number(4), r.number(5)),
  (handler) => (r) =>
    handler(r.number(0), r.number(1), r.number(2), r.number(3), r.number(4), r.number(5), r.number(6)),
  (handler) => (r) =>
    handler(
      r.number(0),
      r.number(1),
      r.number(2),
      r.number(3),
      r.number(4),
      r.number(5),
      r.number(6),
      r.number(7),
    ),
];

/** A function that calls the handler with the arguments of a record, and returns its result. */
export function decoderOf({ shape, count }: Payload<readonly unknown[]>, handler: Handler): Decode {
  if (shape === 'numbers') return NUMBERS_DECODERS[count]!(handler);
  if (shape === 'json') return (record) => handler(JSON.parse(decoder.decode(record.payload)));
  if (shape === 'bytes') return (record) => handler(record.payload);
  return () => handler();
}

/** A function that decodes the value of an answer. */
export function answerDecoderOf({
  shape,
  count,
}: Payload<readonly unknown[]>): (payload: Uint8Array) => unknown {
  if (shape === 'json') return (payload) => JSON.parse(decoder.decode(payload));
  if (shape === 'bytes') return (payload) => payload;
  if (count === 1) return (payload) => new KeptRecord(payload).number(0);
  return () => undefined;
}
