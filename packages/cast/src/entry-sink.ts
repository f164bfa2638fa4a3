import type { Writable } from 'node:stream';

/** A file that arrives, for the function that makes its sink. */
export interface SinkEntry {
  /** Identifies the cast. */
  readonly castId: string;
  /** The sender: its own host name, and its address. */
  readonly from: string;
  /** Path in the cast, as text; bytes that are not UTF-8 are replaced. Components are joined by '/'; none is '..'. */
  readonly path: string;
  /** The same, as bytes. */
  readonly pathBytes: Uint8Array;
  /** Bytes of the file; undefined for a stream whose length is not known. */
  readonly size: number | undefined;
  /** Permission bits. */
  readonly mode: number;
  /** Time of the last change. */
  readonly modified: Date;
}

/**
 * Makes the stream that takes the bytes of one file. Files come one after the other, in the order of the sender. A chunk
 * belongs to the sink, and its bytes have been checked; the next one comes when `write` returned true or after 'drain'. The
 * sink is ended after the whole file has been checked, and the cast waits for its 'finish'. It is destroyed with an error
 * where the file, or the cast, fails; what it has got of the file is then incomplete. A sink that fails ends the cast at this
 * receiver; so does a function that throws.
 */
export type EntrySink = (entry: SinkEntry) => Writable | Promise<Writable>;
