import { RECORD_BYTES, RecordWord, type TraceKindNumber } from './layout.js';

/** One record of a trace, decoded. The fields are those drawn in `layout.ts`. */
export interface TraceEvent {
  /** Nanoseconds of the trace's clock. */
  readonly time: number;
  /** Id of the member that wrote the record. */
  readonly member: number;
  /** A number of {@link TraceKind}; files of later versions may have further ones. */
  readonly kind: TraceKindNumber;
  /** A number of {@link TraceProtocol}, or of a protocol of the program. */
  readonly protocol: number;
  /** Id of the group, channel or log. */
  readonly group: number;
  /** Number of the message, from 0, or {@link NONE}. */
  readonly message: number;
  /** Number of the block, or {@link NONE}; of some kinds a count. */
  readonly block: number;
  /** Id of the other member, or {@link NONE}. */
  readonly peer: number;
}

/** Writes one record at `offset`. */
export function encodeRecord(view: DataView, offset: number, event: TraceEvent): void {
  view.setFloat64(offset, event.time, true);
  const word = (index: number, value: number) => view.setUint32(offset + index * 4, value, true);
  word(RecordWord.MEMBER, event.member);
  word(RecordWord.WHAT, event.kind | (event.protocol << 8));
  word(RecordWord.GROUP, event.group);
  word(RecordWord.MESSAGE, event.message);
  word(RecordWord.BLOCK, event.block);
  word(RecordWord.PEER, event.peer);
}

/** The bytes of records. */
export function encodeRecords(events: readonly TraceEvent[]): Uint8Array {
  const bytes = new Uint8Array(events.length * RECORD_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, event] of events.entries()) encodeRecord(view, index * RECORD_BYTES, event);
  return bytes;
}

/** Reads the record at `offset`. */
export function decodeRecord(view: DataView, offset: number): TraceEvent {
  const word = (index: number) => view.getUint32(offset + index * 4, true);
  const what = word(RecordWord.WHAT);
  return {
    time: view.getFloat64(offset, true),
    member: word(RecordWord.MEMBER),
    kind: (what & 0xff) as TraceKindNumber,
    protocol: (what >>> 8) & 0xff,
    group: word(RecordWord.GROUP),
    message: word(RecordWord.MESSAGE),
    block: word(RecordWord.BLOCK),
    peer: word(RecordWord.PEER),
  };
}

/** The records in `bytes`, whose length is a multiple of a record's. */
export function decodeRecords(bytes: Uint8Array): TraceEvent[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const events: TraceEvent[] = [];
  for (let at = 0; at + RECORD_BYTES <= bytes.byteLength; at += RECORD_BYTES) {
    events.push(decodeRecord(view, at));
  }
  return events;
}
