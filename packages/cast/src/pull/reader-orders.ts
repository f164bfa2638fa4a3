import type { RunSeal } from '../seal/run-key.js';
import type { CastPaths } from './cast-tree.js';

/** What is offered: a name in a served directory, or the paths of a cast. */
export type PullSurveyOrder = ServedName | CastPaths;

interface ServedName {
  /** The served directory. */
  readonly directory: string;
  /** Path below it; empty for everything. */
  readonly name: Uint8Array;
}

/** The files of some pieces. */
export interface FilesOfPieces {
  readonly files: number;
  /** Sum of the sizes of the files. */
  readonly bytes: number;
}

/** Begins a run: one group. */
export interface PullRunOrder {
  readonly seal: RunSeal | undefined;
  /** What is sent, in this order. */
  readonly pieces: Uint32Array<ArrayBuffer>;
}

export interface FillPiecesOrder {
  /** Handle of the region to write to, and the length of a message in it. */
  readonly region: number;
  readonly byteLength: number;
  /** Number of the message in the run. */
  readonly sequence: number;
}

/** A filled message. */
export interface FilledPieces {
  /** 0: the run has ended. */
  readonly bytes: number;
  /** The pieces in the message. */
  readonly pieces: readonly number[];
  /** How many pieces of the run were filled, or left out, up to the end of this message. */
  readonly position: number;
  /** Entries that were found to have changed. */
  readonly changed: readonly ChangedFile[];
}

/** A file that has changed since it was hashed, or cannot be read any more. */
export interface ChangedFile {
  readonly entry: number;
  readonly message: string;
  /** Number of its first piece, and how many it has. */
  readonly first: number;
  readonly pieces: number;
}
