import type { BeginningFile, SinkFailure } from '../writer/file-taker.js';
import type { ByteRange } from './coverage.js';
import type { Tensor } from './safetensors.js';

/** A file whose size is known. */
export type SizedFile = BeginningFile & { readonly size: number };

/** The memory of one file. */
export interface MemoryPlace {
  write(offset: number, bytes: Buffer): Promise<void> | void;
  zeros(offset: number, length: number): Promise<void> | void;
}

/** Where the files of a cast go in memory: to the application, or to named shared memory. */
export interface MemoryTarget {
  /** Undefined where the file is not wanted. */
  allocate(file: SizedFile): Promise<MemoryPlace | undefined>;
  /** These tensors of a file are whole. */
  tensors(index: number, tensors: readonly Tensor[]): Promise<void>;
  /** A file is whole, as far as it is wanted. */
  file(index: number, ranges: readonly ByteRange[]): Promise<void>;
  /** A file will not be whole; its memory is not needed any more. */
  fail(index: number, failure: SinkFailure): Promise<void>;
  /** All files of the cast are here, or have failed. */
  finish(): void;
  giveUp(): void;
  /** Nothing more comes. Without `finish` before, the cast has failed. Idempotent. */
  close(): void;
}
