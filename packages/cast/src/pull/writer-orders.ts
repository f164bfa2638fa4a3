import type { CastProblem } from '../cast-summary.js';
import type { ComparisonKind } from '../manifest/policy.js';
import type { ResumeLimit } from '../resume/resume-limit.js';

export interface OpenPullOrder {
  readonly directory: string;
  readonly castId: string;
  readonly fsync: boolean;
  /** Whether there may be links. */
  readonly hasLinks: boolean;
  /** How much interrupted fetches and casts may leave; undefined where this one neither takes nor leaves anything. */
  readonly resumeLimit: ResumeLimit | undefined;
}

/** The list of entries is complete. */
export interface BeginPullOrder {
  /** Root hash, hexadecimal. */
  readonly root: string;
  readonly compare: ComparisonKind;
}

export interface StorePiecesOrder {
  /** Handle of the region of the message, and its length. */
  readonly region: number;
  readonly byteLength: number;
  /** Number of the message in the run. */
  readonly sequence: number;
}

export interface StoredPieces {
  /** Whether all pieces of the message were those of the server's list. */
  readonly isWhole: boolean;
  /** Of all messages so far. */
  readonly receivedBytes: number;
}

/** What a fetcher has before it receives anything. */
export interface PiecesHere {
  /** Bits of the pieces: see `BlockSet`. */
  readonly bits: Uint8Array;
  /** Bytes of the other pieces. */
  readonly lackingBytes: number;
}

/** The end of a fetch. */
export interface PulledReport {
  readonly files: number;
  readonly bytes: number;
  readonly directories: number;
  readonly links: number;
  /** Bytes of pieces that were received. */
  readonly receivedBytes: number;
  readonly unchangedFiles: number;
  readonly unchangedBytes: number;
  readonly keptBytes: number;
  /** Bytes that interrupted fetches and casts had left, and that were not received again. */
  readonly resumedBytes: number;
  /** First components of the paths of all entries. */
  readonly names: readonly Uint8Array[];
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}
