import type { Buffer } from 'node:buffer';
import type { AppendLocation, EntryLocation, LogEntry } from '@rdmc/tailwind';

/** An append: after a failure all of its entries are stored, or none. */
export interface CommitTicket {
  /** Places of its entries; undefined until the append has one. */
  readonly location: AppendLocation | undefined;
  /** Resolves when the append is acknowledged, in the order of appends. Undefined: it is acknowledged. */
  readonly acknowledged: Promise<unknown> | undefined;
  /** The error with which `acknowledged` rejects; set at once. */
  readonly failure?: Error | undefined;
}

/** The log as the store uses it. */
export interface CommitLog {
  /** Number of backups that have an acknowledged append; the answer of WAIT. */
  readonly replicas: number;
  /** The entries of one append, each with 12 bytes more, are at most so many bytes. */
  readonly maxAppendBytes: number;
  /** Aborted, with the reason, when the log cannot acknowledge any more. */
  readonly ended: AbortSignal;
  /** Bytes of its segments, of what is live in them, and of the segments that it may have. */
  readonly usage: {
    readonly bytes: number;
    readonly liveBytes: number;
    readonly segments: number;
    readonly limitBytes: number;
  };
  /** An append with a value may be refused as the log is full, or wait for room; removals have more room. */
  readonly isShort: boolean;
  /** @throws an error with a code, when nothing was appended */
  append(entries: readonly LogEntry[]): CommitTicket;
  /** The same for entries as a segment has them: each piece has whole entries with their headers. */
  appendRun(pieces: readonly Uint8Array[]): CommitTicket;
  /**
   * The bytes of a segment, in which entries are at their places with their headers, as long as it has a live entry; undefined: they
   * are not in memory.
   */
  memory(segmentId: bigint): Buffer | undefined;
  /** An entry is superseded. */
  dead(location: EntryLocation): void;
}
