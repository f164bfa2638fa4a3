import type { CastProblem } from './cast-summary.js';

/** What a cast of some paths would send. */
export interface FileSurvey {
  /** Regular files, without hard links to one of them. */
  readonly files: number;
  /** Directories. */
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  /** Sizes of the files added up. */
  readonly bytes: number;
  /** Bytes to send: as `bytes`, without the holes of sparse files as far as block counts show them. */
  readonly contentBytes: number;
  /** Entries that cannot be sent: at most 500 are kept, `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  /** All entries that cannot be sent, also those that `problems` does not list. */
  readonly problemCount: number;
}
