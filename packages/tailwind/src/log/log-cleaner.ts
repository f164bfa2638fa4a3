import type { LogTombstone } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { EntryLocation } from './entry-location.js';

/**
 * The functions of an application that a log calls for cleaning. They run on the application's thread, between its own
 * turns, and must neither throw nor wait.
 */
export interface LogCleaner {
  /**
   * Whether an object is still the value of its key: whether the application's index points at this location. False is
   * final: the entry disappears when the segment is freed. Called for objects only.
   *
   * An append without `locations` does not supersede anything: until it has them, it may be lost. If the index does
   * not take this into account, the log itself keeps the newest object of such a key, see `followsPlacement`.
   */
  isLive(entry: SegmentEntry, location: EntryLocation): boolean;
  /**
   * True if neither `isLive` nor `needsTombstone` treats an entry as superseded by an append without `locations`. Then
   * the log need not keep objects of waiting keys, which makes cleaning cheaper when a log is nearly full.
   */
  readonly followsPlacement?: boolean;
  /**
   * A live object has a copy, which is durable at all backups. The index must point to it when this returns. The
   * original is freed afterwards. `entry` is the copy.
   */
  moved(entry: SegmentEntry, from: EntryLocation, to: EntryLocation): void;
  /**
   * Whether a recovery may need a tombstone, as far as the application knows: false when its key holds a newer object.
   * Without this function every tombstone is needed until older segments do not have an object of its key any more.
   */
  needsTombstone?(tombstone: LogTombstone): boolean;
}
