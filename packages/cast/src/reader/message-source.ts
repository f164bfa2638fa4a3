import type { ProblemList } from '../problems.js';
import type { StreamTotals } from '../stream/records.js';

/** A filled message. */
export interface FilledMessage {
  /** 0: the stream ended before this message. */
  readonly bytes: number;
  /** The stream ends with this message. */
  readonly last: boolean;
  /** Bytes of file contents in the stream up to the end of this message. */
  readonly contentBytes: number;
  /** Bytes of the files up to there that receivers take from their older files. */
  readonly keptBytes: number;
  /** Hash of the message's outline, where receivers check it. */
  readonly outline?: string | undefined;
}

/** Fills the messages of one stream. A message can be filled again; a new one must be the next in sequence. */
export interface MessageSource {
  readonly totals: StreamTotals;
  readonly problems: ProblemList;
  /** Bytes of file contents in all messages so far. */
  readonly contentBytes: number;
  /** The same, as they are in the messages. */
  readonly packedBytes: number;
  /** Writes message `sequence` to the beginning of `target`. All messages have the capacity of `target`. */
  fill(sequence: number, target: Buffer): FilledMessage;
  /** Messages before this one will not be requested again. */
  forget(sequence: number): void;
  close(): void;
}
