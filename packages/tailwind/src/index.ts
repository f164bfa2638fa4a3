export { TailwindError, type TailwindErrorCode, tailwindErrors } from './errors.js';
export { EntryType, type EntryTypeNumber } from './format/layout.js';
export {
  decodeObject,
  decodeTombstone,
  encodeObject,
  encodeTombstone,
  type LogObject,
  type LogTombstone,
} from './format/payloads.js';
export type { LogEntry } from './log/append-content.js';
export type { LogAuthority, Minimum } from './log/authority.js';
export type { EntryLocation } from './log/entry-location.js';
export type { Log } from './log/log.js';
export type { LogCleaner } from './log/log-cleaner.js';
export type { LogOptions } from './log/log-options.js';
export type { LogStats } from './log/log-stats.js';
export type { Append, AppendLocation } from './log/pending-append.js';
export { Logs, tailwind } from './logs.js';
export type { Logger } from './options.js';
export type { ReplicationMode } from './records.js';
export type { DividedSegment, Division, HeirShare, SlotRange } from './recovery/division.js';
export { divisionShape, plainDivision } from './recovery/division-message.js';
export type { PulledPart, PullOptions } from './recovery/pull.js';
export type { RecoveredSegment, Recovery, RecoveryOptions } from './recovery/recover.js';
export type { Divider } from './scanner/scan-job.js';
export type { SegmentRef } from './segment-key.js';
