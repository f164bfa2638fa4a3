export { TailwindError, type TailwindErrorCode } from './errors.js';
export { EntryType, type EntryTypeNumber, FORMAT_VERSION, type SegmentIdentity } from './format/layout.js';
export {
  decodeDigest,
  decodeObject,
  decodeSegmentHeader,
  decodeTombstone,
  encodeDigest,
  encodeObject,
  encodeSegmentHeader,
  encodeTombstone,
  type LogObject,
  type LogTombstone,
  type SegmentHeader,
} from './format/payloads.js';
export {
  type Certificate,
  type ScanOptions,
  type ScanReason,
  type ScanResult,
  type SegmentEntry,
  scanSegment,
  segmentEntries,
} from './format/scan.js';
export { type SealedGroup, SegmentWriter } from './format/segment-writer.js';
