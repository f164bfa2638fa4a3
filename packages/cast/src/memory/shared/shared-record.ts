import type { ByteRange } from '../coverage.js';

/** What all records say. */
interface OfFile {
  /** Path of the file in the cast; bytes that are not UTF-8 are replaced. */
  readonly path: string;
  /** Name of its contents in /dev/shm. */
  readonly segment: string;
}

/** A tensor is whole. */
export interface SharedTensor extends OfFile {
  /** Tells the records apart. */
  readonly type: 'tensor';
  /** Its name in the header of the file. */
  readonly name: string;
  /** The type of its elements, as in the header. */
  readonly dtype: string;
  /** The length of each dimension. */
  readonly shape: readonly number[];
  /** Offset of its first byte in the segment. */
  readonly begin: number;
  /** Offset of the byte behind its last one. */
  readonly end: number;
}

/** A file is whole, or everything that is wanted of it. */
export interface SharedFile extends OfFile {
  /** Tells the records apart. */
  readonly type: 'file';
  /** Bytes of the file, and of the segment. */
  readonly size: number;
  /** The ranges that are here. */
  readonly ranges: readonly ByteRange[];
}

/** A file will not be whole. */
export interface SharedFailure extends OfFile {
  /** Tells the records apart. */
  readonly type: 'failed';
  /** An error code: `ERR_RDMC_…`. */
  readonly code: string;
  /** Why, for people. */
  readonly message: string;
}

/** A record of the index of named shared memory. */
export type SharedRecord = SharedTensor | SharedFile | SharedFailure;
