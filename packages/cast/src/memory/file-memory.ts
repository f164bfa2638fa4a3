import type { MemoryRegion } from '@rdmc/verbs';
import type { SinkEntry } from '../entry-sink.js';
import type { ByteRange } from './coverage.js';
import type { Tensor } from './safetensors.js';

/**
 * Memory for a file, at least as long as the file. The bytes of the file are at its beginning. A `SharedArrayBuffer`, a
 * `Uint8Array` of one, and a region are filled by the thread that decrypts and checks; other memory by the application's thread.
 * Nobody may read a byte before it is reported, or write one.
 */
export type FileMemory = SharedArrayBuffer | Uint8Array | MemoryRegion;

/** A tensor is whole. */
export interface TensorArrived {
  /** Tells a whole tensor from a whole file, and from a file that failed. */
  readonly type: 'tensor';
  /** The file that it is in. */
  readonly entry: SinkEntry;
  /** Its name, type and shape, and where it is in the file. */
  readonly tensor: Tensor;
  /** Its bytes, in the memory that was given for the file. They may be unaligned: see `tensor.begin`. */
  readonly bytes: Uint8Array;
}

/** A file is whole, or everything that is wanted of it. */
export interface FileArrived {
  /** Tells a whole file from a whole tensor, and from a file that failed. */
  readonly type: 'file';
  /** The file. */
  readonly entry: SinkEntry;
  /** The ranges that are here: all of it, unless `parts` names less. */
  readonly ranges: readonly ByteRange[];
  /** The memory of the file, without what is behind it. Bytes outside of `ranges` are not those of the file. */
  readonly bytes: Uint8Array;
}

/** A file will not be whole: the memory that was given for it is free. Tensors of it that were reported do not count. */
export interface FileFailed {
  /** Tells a file that failed from whole ones. */
  readonly type: 'failed';
  /** The file. */
  readonly entry: SinkEntry;
  /** An error code: `ERR_RDMC_…`. */
  readonly code: string;
  /** Why, for people. */
  readonly message: string;
}

/** What happens to the files in memory. */
export type MemoryEvent = TensorArrived | FileArrived | FileFailed;

/**
 * Memory that takes the files of casts. Both functions run in the application's thread. A function that throws ends the cast
 * at this receiver.
 */
export interface CastMemory {
  /**
   * Gives memory for a file, when its first byte has arrived. `undefined` where the file is not wanted: then its bytes are
   * checked and discarded.
   */
  allocate(entry: SinkEntry): FileMemory | undefined | Promise<FileMemory | undefined>;
  /** Called for each tensor and each file that is whole, in the order of arrival, and for files that fail. Must be short. */
  arrived(event: MemoryEvent): void;
}
