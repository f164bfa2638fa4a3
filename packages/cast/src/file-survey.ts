import type { CastProblem } from './cast-summary.js';

/** What a cast of some paths would send. */
export interface FileSurvey {
  /** Regular files, hard links to one of them left out. */
  readonly files: number;
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  /** Sizes of the files added up. */
  readonly bytes: number;
  /** Bytes to send: as `bytes`, holes of sparse files left out as far as can be told. */
  readonly contentBytes: number;
  /** What cannot be sent: at most 500 are kept, `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}
