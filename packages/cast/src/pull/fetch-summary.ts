import type { CastProblem } from '../cast-summary.js';
import { ProblemList } from '../problems.js';
import type { ServerFrameOf } from './frames.js';
import type { PulledReport } from './writer-orders.js';

/** A snapshot of a fetch. Bytes are those of pieces that this end lacked. */
export interface FetchProgress {
  /**
   * The stage of the fetch: calling the server, comparing, waiting for its turn or receiving, the last writes, with `serveOnMs`
   * serving others, the end.
   */
  readonly phase: 'connecting' | 'comparing' | 'receiving' | 'finishing' | 'serving' | 'done';
  /** Bytes to receive; 0 until compared. */
  readonly totalBytes: number;
  /** Bytes that are stored. */
  readonly storedBytes: number;
  /** Members of the current group, the server included; 0 between groups. */
  readonly members: number;
}

/** The outcome of a fetch. */
export interface FetchSummary {
  /** Root hash of what was fetched: the list of its entries and the contents of its files. Hexadecimal. */
  readonly root: string;
  /** Regular files that were stored. */
  readonly files: number;
  /** Sum of the sizes of the files that were stored. */
  readonly bytes: number;
  /** Directories of the served name. */
  readonly directories: number;
  /** Bytes of pieces that were received. */
  readonly receivedBytes: number;
  /** Bytes that fetches and casts that ended early had left here, in complete files and in partial ones. */
  readonly resumedBytes: number;
  /** Regular files that were here already, or were left by a fetch or a cast that ended early. */
  readonly unchangedFiles: number;
  /** Sum of their sizes. */
  readonly unchangedBytes: number;
  /** Of `bytes`, those that were taken from older files here. */
  readonly keptBytes: number;
  /** Links and special files below the name, which are not served. */
  readonly skipped: number;
  /** Whether files were encrypted on their way; false also where nothing was sent. */
  readonly encrypted: boolean;
  /** Time of the whole fetch, without that of serving on. */
  readonly seconds: number;
  /** Entries that are missing here. At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  /** All entries that are missing here. */
  readonly problemCount: number;
}

export function fetchSummary(
  { root, skipped, problems: theirs, problemCount: theirCount }: ServerFrameOf<'offer'>,
  { problems: ours, problemCount: ourCount, links: _links, names: _names, ...stored }: PulledReport,
  seconds: number,
  encrypted: boolean,
): FetchSummary {
  const problems = new ProblemList();
  problems.addAll(theirs, theirCount);
  problems.addAll(ours, ourCount);
  return {
    ...{ root, skipped, ...stored, encrypted, seconds },
    problems: problems.kept,
    problemCount: problems.count,
  };
}
