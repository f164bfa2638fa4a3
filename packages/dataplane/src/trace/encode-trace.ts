import { encodeHeader, type TraceHeader } from './file-header.js';
import { FILE_HEADER_BYTES, NONE, RECORD_BYTES, TraceKind } from './layout.js';
import { encodeRecord, type TraceEvent } from './records.js';

/** The bytes of a trace file with these records, and its end. */
export function encodeTrace(header: TraceHeader, events: readonly TraceEvent[]): Uint8Array {
  const bytes = new Uint8Array(FILE_HEADER_BYTES + (events.length + 1) * RECORD_BYTES);
  bytes.set(encodeHeader(header));
  const view = new DataView(bytes.buffer);
  const at = (index: number): number => FILE_HEADER_BYTES + index * RECORD_BYTES;
  for (const [index, event] of events.entries()) encodeRecord(view, at(index), event);
  encodeRecord(view, at(events.length), {
    ...{ time: events.at(-1)?.time ?? header.clockNs, member: NONE, kind: TraceKind.END, protocol: 0, group: 0 },
    message: events.length >>> 0,
    block: Math.floor(events.length / 2 ** 32),
    peer: NONE,
  });
  return bytes;
}
