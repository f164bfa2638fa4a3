import type { FileSink } from './file-sink.js';

/** A file that is complete except for its name. */
export interface SealedFile {
  readonly sink: FileSink;
  /** Renames it to its name. @throws CastError where nothing more can be stored */
  readonly commit: () => void;
  /** Reports that it could not be synced. @throws CastError where nothing more can be stored */
  readonly fail: (error: unknown) => void;
}

/** Decides when complete files get their names. Everything is done in the order in which it was added. */
export interface Commits {
  /** Some bytes of a file have been written; more will come. */
  written(sink: FileSink): void;
  file(file: SealedFile): void;
  /** An action that depends on the names of earlier files. */
  other(action: () => void): void;
}

/** Gives names without waiting for the disk. */
export const commitAtOnce: Commits = {
  written: (sink) => sink.note(),
  file: ({ commit }) => commit(),
  other: (action) => action(),
};
