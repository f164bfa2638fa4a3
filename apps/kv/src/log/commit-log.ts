import type { EntryLocation, LogEntry } from '@rdmc/tailwind';

/** An append: its entries are all there after a failure, or none. */
export interface CommitTicket {
  /** Of each entry; undefined until the append has a place. */
  readonly locations: readonly EntryLocation[] | undefined;
  /** Appends are acknowledged in order. Undefined: it was at once. */
  readonly acknowledged: Promise<unknown> | undefined;
}

/** What the store needs of a log. */
export interface CommitLog {
  /** Backups that an acknowledged append is at; what WAIT answers. */
  readonly replicas: number;
  /** The entries of one append, each with 12 bytes more, are at most so many bytes. */
  readonly maxAppendBytes: number;
  /** Aborted, with the reason, when nothing more can be acknowledged. */
  readonly ended: AbortSignal;
  /** Bytes of its segments, and of what is live in them. */
  readonly usage: { readonly bytes: number; readonly liveBytes: number; readonly segments: number };
  /** @throws an error with a code, when nothing was appended */
  append(entries: readonly LogEntry[]): CommitTicket;
  /** An entry is superseded. */
  dead(location: EntryLocation): void;
}
