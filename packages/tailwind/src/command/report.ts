import { EntryType, entryTypeName, readU32 } from '../format/layout.js';
import { decodeDigest, decodeObject, decodeTombstone } from '../format/payloads.js';
import { type ScanResult, type SegmentEntry, segmentEntries } from '../format/scan.js';
import type { SegmentFile } from './segment-file.js';

/** An entry as the command prints it. */
export interface EntryReport {
  readonly offset: number;
  readonly type: string;
  readonly byteLength: number;
  readonly details?: string;
}

export function entryReports({ bytes }: SegmentFile, endOffset: number): EntryReport[] {
  return Array.from(segmentEntries(bytes, endOffset), (entry) => ({
    offset: entry.offset,
    type: entryTypeName(entry.type)!,
    byteLength: entry.payload.length,
    ...detailsOf(entry),
  }));
}

export function jsonReport(file: SegmentFile, result: ScanResult): string {
  const { logId, segmentId, incarnation } = file.scan;
  const identity = { logId: String(logId), segmentId: String(segmentId), incarnation };
  return `${JSON.stringify({ ...result, ...identity, entries: entryReports(file, result.offset) })}\n`;
}

export function textReport(file: SegmentFile, result: ScanResult): string {
  const { logId, segmentId, incarnation } = file.scan;
  const lines = entryReports(file, result.offset).map(({ offset, type, byteLength, details = '' }) =>
    `${String(offset).padStart(10)}  ${type.padEnd(14)}  ${String(byteLength).padStart(8)}  ${details}`.trimEnd(),
  );
  const summary = [
    `log ${logId}, segment ${segmentId}, incarnation ${incarnation}`,
    `status    ${result.status}`,
    `offset    ${result.offset}`,
    `checksum  0x${hex(result.checksum)}`,
    `reason    ${result.reason}`,
  ];
  return `${[...lines, '', ...summary].join('\n').trimStart()}\n`;
}

/** A payload with matching checksums may still be malformed: such an entry is printed without details. */
function detailsOf({ type, payload }: SegmentEntry): { details?: string } {
  try {
    switch (type) {
      case EntryType.CHECKSUM:
        return { details: `0x${hex(readU32(payload, 0))}` };
      case EntryType.LOG_DIGEST:
        return { details: `segments ${decodeDigest(payload).join(' ')}` };
      case EntryType.OBJECT: {
        const { version, key, value } = decodeObject(payload);
        return { details: `${printable(key)} version ${version}, ${value.length} bytes` };
      }
      case EntryType.TOMBSTONE: {
        const { version, key, segmentId } = decodeTombstone(payload);
        return { details: `${printable(key)} version ${version}, of segment ${segmentId}` };
      }
      default:
        return {};
    }
  } catch {
    return {};
  }
}

function printable(key: Uint8Array): string {
  const text = JSON.stringify(Buffer.from(key.subarray(0, 64)).toString('latin1'));
  return key.length > 64 ? `${text}…` : text;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
