import { encodeHeader, type TraceHeader } from './file-header.js';
import { FILE_HEADER_BYTES, NONE, RECORD_BYTES, TraceKind } from './layout.js';
import { encodeRecord, encodeRecords, type TraceEvent } from './records.js';

/** The bytes of a trace file with these records, and its end. */
export function encodeTrace(header: TraceHeader, events: readonly TraceEvent[]): Uint8Array {
  const bytes = new Uint8Array(FILE_HEADER_BYTES + (events.length + 1) * RECORD_BYTES);
  bytes.set(encodeHeader(header));
  bytes.set(encodeRecords(events), FILE_HEADER_BYTES);
  const end = FILE_HEADER_BYTES + events.length * RECORD_BYTES;
  encodeRecord(new DataView(bytes.buffer), end, {
    ...{
      time: events.at(-1)?.time ?? header.clockNs,
      member: NONE,
      kind: TraceKind.END,
      protocol: 0,
      group: 0,
    },
    message: events.length >>> 0,
    block: Math.floor(events.length / 2 ** 32),
    peer: NONE,
  });
  return bytes;
}
