import type { UnsetAttributes } from '../archive/unset-attributes.js';
import type { CastProblem } from '../cast-summary.js';

/** Number and bytes of files that have their names. */
export interface StoredSoFar {
  readonly files: number;
  readonly bytes: number;
}

/** The totals of a finished cast at this receiver. */
export interface StoredReport {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
  /** Of these bytes, those that came from older files of the receiver. */
  readonly keptBytes: number;
  /** Bytes that interrupted casts had left, of complete files and of partial ones, and that were not received again. */
  readonly resumedBytes: number;
  /** Regular files that the receiver had already. */
  readonly unchangedFiles: number;
  readonly unchangedBytes: number;
  /** Entries that the sender does not have. */
  readonly removed: number;
  /** Attributes of an archive cast that were not set. */
  readonly unset?: UnsetAttributes | undefined;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
  /** Names of the paths that were given at the sender. */
  readonly names: readonly Uint8Array[];
}
