import type { Timestamp } from '../stream/records.js';

/*
 * Between the writer's thread and the sinks in the application's thread, through one MessagePort. The writer's thread sends
 * one order, and waits for its answer: this is the backpressure of a sink.
 *
 *   writer's thread                        application's thread
 *   begin{path, size, mode, time}   →      the sink of the next file is made
 *   data{bytes}                     →      and written; the bytes are transferred
 *   end{}                           →      the file is whole: the sink is ended
 *   discard{code, message}          →      it is not: the sink is destroyed
 *                                   ←      {} when that is done, or {error}
 */
export type SinkOrder =
  | {
      readonly type: 'begin';
      readonly path: Uint8Array;
      /** Undefined where it is not known. */
      readonly size: number | undefined;
      readonly mode: number;
      readonly time: Timestamp;
    }
  | { readonly type: 'data'; readonly bytes: Uint8Array }
  | { readonly type: 'end' }
  | ({ readonly type: 'discard' } & SinkFailure);

export interface SinkFailure {
  readonly code: string;
  readonly message: string;
}

export interface SinkAnswer {
  readonly error?: SinkFailure;
}
