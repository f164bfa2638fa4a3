import type { Timestamp } from '../stream/records.js';
import type { SinkFailure } from '../writer/file-taker.js';
import type { ByteRange } from './coverage.js';
import type { Tensor } from './safetensors.js';

/*
 * Between the writer's thread and the application's thread, where files go to memory: through one MessagePort. The writer's
 * thread sends one order, and waits for its answer.
 *
 *   writer's thread                             application's thread
 *   allocate{index, path, size, mode, time} →   asks the application for memory
 *                                           ←   {place}: who writes to it; without one, the file is not wanted
 *   write{index, offset, bytes}             →   only where the place is 'port'; bytes are transferred
 *   tensors{index, tensors}                 →   these are whole
 *   file{index, ranges}                     →   it is whole
 *   fail{index, code, message}              →   it will not be whole
 *                                           ←   {} when that is done, or {error}
 */
export type MemoryOrder =
  | {
      readonly type: 'allocate';
      readonly index: number;
      readonly path: Uint8Array;
      readonly size: number;
      readonly mode: number;
      readonly time: Timestamp;
    }
  | { readonly type: 'write'; readonly index: number; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly type: 'tensors'; readonly index: number; readonly tensors: readonly Tensor[] }
  | { readonly type: 'file'; readonly index: number; readonly ranges: readonly ByteRange[] }
  | ({ readonly type: 'fail'; readonly index: number } & SinkFailure);

/** Who writes to the memory of a file. */
export type PlaceFacts =
  /** The writer's thread: the memory is shared. */
  | { readonly kind: 'shared'; readonly bytes: Uint8Array }
  /** The writer's thread: handles of a region and of its device. */
  | { readonly kind: 'region'; readonly device: number; readonly region: number }
  /** The application's thread. */
  | { readonly kind: 'port' };

export interface MemoryAnswer {
  readonly place?: PlaceFacts | undefined;
  readonly error?: SinkFailure;
}
