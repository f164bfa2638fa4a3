import type { CastProblem } from '../cast-summary.js';
import type { Checksum } from '../checksum.js';
import type { Codec } from '../compression/codec.js';
import type { FilterRule } from '../filters/filter-rule.js';
import type { RunSeal } from '../seal/run-key.js';
import type { StreamTotals } from '../stream/records.js';
import type { InputOrder } from './input-stream.js';

/** What an archive cast tells. */
export interface ArchiveOrder {
  /** Without the names of users and groups. */
  readonly numericIds: boolean;
}

export interface SurveyOrder {
  readonly paths: readonly Uint8Array[];
  readonly rules: readonly FilterRule[];
  /** Only these paths, relative to the only one of `paths`. */
  readonly listed: readonly Uint8Array[] | undefined;
  /** Whether attributes are told: see `archive/layout.ts`; undefined: they are not. */
  readonly archive?: ArchiveOrder | undefined;
  /** A file of unknown length, in the place of paths. */
  readonly input?: InputOrder | undefined;
}

/** A run: one group to which messages of a stream are sent. */
export interface RunOrder {
  /** How messages are encrypted; undefined where they are not. */
  readonly seal: RunSeal | undefined;
  /** Whether no further stream is planned: the cast ends with it, except where files have to be built again. */
  readonly isLastStream: boolean;
  /** Whether the hash of each message's outline is computed. */
  readonly outlined: boolean;
}

/** Begins a stream. */
export interface BeginOrder {
  readonly checksum: Checksum;
  /** A byte of `Selected` for each entry; undefined for all entries. */
  readonly selection: Uint8Array | undefined;
  /** Bits of the blocks that are sent, of files that are not sent whole: see `BlockSet`. */
  readonly sentBlocks: ReadonlyMap<number, Uint8Array>;
  /** Whether each message ends with a CHECK. */
  readonly checked: boolean;
  /** How contents are compressed; undefined: not. */
  readonly codec: Codec | undefined;
}

export interface FillOrder {
  /** Handle of the region to write to, and the length of a message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
  /** Messages before this one will not be requested again. */
  readonly forgetBelow: number;
}

/** What the streams of a cast contain. */
export interface CastReport {
  readonly totals: StreamTotals;
  /** Bytes of contents in the streams. */
  readonly contentBytes: number;
  /** The same, as they are in messages. */
  readonly packedBytes: number;
  /** Entries that are in no stream. */
  readonly unsent: StreamTotals;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
}

/** An entry, described for people. */
export interface EntryFacts {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'link';
  readonly bytes: number;
}
