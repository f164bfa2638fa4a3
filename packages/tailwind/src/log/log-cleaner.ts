import type { LogTombstone } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { EntryLocation } from './entry-location.js';

/**
 * What a log asks its application in order to clean. All are called on the application's thread, between its own
 * turns, and must neither throw nor wait.
 */
export interface LogCleaner {
  /**
   * Whether an object is still what its key holds: whether the application's index points at this location. False is
   * final: the entry is gone once the segment is freed. Asked of objects only.
   *
   * An append that has no `locations` yet supersedes nothing: until it has, it may be lost. Where the index does not
   * go by that, the log keeps the newest object of such a key by itself, see `followsPlacement`.
   */
  isLive(entry: SegmentEntry, location: EntryLocation): boolean;
  /**
   * True: `isLive` and `needsTombstone` call nothing superseded by an append that has no `locations` yet. The log then
   * need not keep objects of keys that wait, which makes cleaning cheaper when a log is nearly full.
   */
  readonly followsPlacement?: boolean;
  /**
   * A live object has a copy, which is durable at all backups; the index must point there when this returns. The old
   * one is freed afterwards. `entry` is the copy.
   */
  moved(entry: SegmentEntry, from: EntryLocation, to: EntryLocation): void;
  /**
   * Whether a tombstone may be needed by a recovery, as far as the application knows: false when its key holds
   * a newer object. Without this function all are, until no object of their key is left in older segments.
   */
  needsTombstone?(tombstone: LogTombstone): boolean;
}
