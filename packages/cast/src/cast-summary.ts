import type { UnsetAttributes } from './archive/unset-attributes.js';

/** An entry that did not arrive, and why. */
export interface CastProblem {
  /** The entry's name in the cast; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** A stable code. */
  readonly code: string;
  /** The reason, for people; it may change. */
  readonly message: string;
  /** The receiver that lacks it; undefined where the sender could not send it, so that all lack it. */
  readonly receiver?: string | undefined;
}

/** What a cast would do with one entry at a receiver. */
export interface EntryChange {
  /**
   * 'create': it is not there; 'replace': another one is there; 'attributes': only mode, time or owner differ; 'remove': the
   * sender does not have it.
   */
  readonly change: 'create' | 'replace' | 'attributes' | 'remove';
  /** 'other' where it is removed and not a directory. */
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** The entry's name in the cast; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** Size of a file that would be sent. */
  readonly bytes: number;
}

/** The outcome of one receiver. */
export interface ReceiverSummary {
  /** The host as it was given. */
  readonly host: string;
  /** The control port as it was given, or its default. */
  readonly port: number;
  /** 'complete': everything that was sent is stored there under its name. */
  readonly state: 'complete' | 'failed';
  /** How often it was cast to. */
  readonly attempts: number;
  /** Regular files and bytes stored there in the last attempt. */
  readonly files: number;
  /** Bytes stored there in the last attempt. */
  readonly bytes: number;
  /** Of these bytes, those that it took from its older files, so that they were not sent to it. */
  readonly keptBytes: number;
  /** Bytes that an interrupted cast had left there, in complete files and in partial ones, and that were not sent again. */
  readonly resumedBytes: number;
  /** Regular files that it had already. */
  readonly unchangedFiles: number;
  /** Sum of the sizes of the files that it had already. */
  readonly unchangedBytes: number;
  /** Entries removed there, because the sender does not have them. */
  readonly removed: number;
  /** What it has not set of the attributes of an archive cast; undefined where it has set everything. */
  readonly unset?: UnsetAttributes | undefined;
  /** Of a dry run: what a cast would change there. */
  readonly changes?: readonly EntryChange[] | undefined;
  /** Why it failed: a stable code; undefined when it is complete. */
  readonly code?: string | undefined;
  /** Why it failed, for people; undefined when it is complete. */
  readonly message?: string | undefined;
}

/** The outcome of a cast. */
export interface CastSummary {
  /** Regular files of the cast, without hard links: those that were sent, and those that receivers had already. */
  readonly files: number;
  /** Directories sent. */
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  /** Sum of the sizes of the files. */
  readonly bytes: number;
  /** Files that were sent to one receiver at least. */
  readonly sentFiles: number;
  /** Sum of the sizes of the files that were sent to one receiver at least. */
  readonly sentBytes: number;
  /** Whether files were encrypted on their way. */
  readonly encrypted: boolean;
  /**
   * Bytes of contents that the sender sent: of `sentBytes`, without holes, and without blocks that receivers had in older
   * files. What several groups got counts for each group. 0 in a dry run.
   */
  readonly transferredBytes: number;
  /** With `compress`: what these bytes took in messages; undefined where they were not compressed. */
  readonly compressedBytes?: number | undefined;
  /** Time of the whole cast, retries included. */
  readonly seconds: number;
  /** The outcome of each receiver, in the order of the option `to`. */
  readonly receivers: readonly ReceiverSummary[];
  /** At most 500 are kept; `problemCount` counts all. */
  readonly problems: readonly CastProblem[];
  /** All entries that did not arrive somewhere, also those that `problems` does not list. */
  readonly problemCount: number;
}
