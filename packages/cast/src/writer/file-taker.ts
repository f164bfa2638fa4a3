import type { CastProblem } from '../cast-summary.js';
import type { PartAnswers } from '../memory/part-answers.js';
import type { Timestamp } from '../stream/records.js';

/** Why a file is not whole. */
export interface SinkFailure {
  readonly code: string;
  readonly message: string;
}

/** A file that begins. */
export interface BeginningFile {
  /** Of the entry in the cast. */
  readonly index: number;
  readonly path: Uint8Array;
  /** Undefined where it is not known. */
  readonly size: number | undefined;
  readonly mode: number;
  readonly time: Timestamp;
}

/**
 * What became of a file at its end: the number of its bytes that are here, or why it is refused. Undefined where it does not
 * count: it is whole already, or lacks parts that may come again.
 */
export type Ended = number | SinkFailure | undefined;

/**
 * Takes the files of a cast in the place of a directory, one after the other. Bytes come in order, in views of a message
 * whose memory is reused. A rejected promise ends the cast at this receiver.
 */
export interface FileTaker {
  /** What it wants of large files; undefined where it takes only whole files, and no streams with ranges. */
  readonly answers: PartAnswers | undefined;
  begin(file: BeginningFile): Promise<void>;
  data(bytes: Buffer): Promise<void>;
  /** Zeros. */
  hole(length: number): Promise<void>;
  /** Bytes that are not sent. */
  pass(length: number): void;
  /** The file is whole, and its digest is right as far as it could be computed. */
  end(): Promise<Ended>;
  /** The file will not be whole. */
  discard(failure: SinkFailure): Promise<void>;
  /** All messages are here. Returns files that are not whole. */
  finish(): Promise<readonly CastProblem[]>;
  /** What it waits for rejects. */
  giveUp(): void;
  close(): void;
}
