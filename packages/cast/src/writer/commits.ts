import type { FileSink } from './file-sink.js';

/** A file that has everything but its name. */
export interface SealedFile {
  readonly sink: FileSink;
  /** Gives it its name. @throws CastError where nothing more can be stored */
  readonly commit: () => void;
  /** It could not be brought to disk. @throws CastError where nothing more can be stored */
  readonly fail: (error: unknown) => void;
}

/** Decides when what has come whole gets its name. Everything is done in the order in which it was added. */
export interface Commits {
  /** Some bytes of a file have been written; more will come. */
  written(sink: FileSink): void;
  file(file: SealedFile): void;
  /** For what depends on names of files before it. */
  other(action: () => void): void;
}

/** Without waiting for the disk. */
export const commitAtOnce: Commits = {
  written: () => {},
  file: ({ commit }) => commit(),
  other: (action) => action(),
};
