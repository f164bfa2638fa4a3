import type { BeginningFile, SinkFailure } from './file-taker.js';

/*
 * Between the writer's thread and the sinks in the application's thread, through one MessagePort. The writer's thread sends
 * one order, and waits for its answer: this is the backpressure of a sink.
 *
 *   writer's thread                        application's thread
 *   begin{index, path, size, …}     →      the sink of the next file is made
 *   data{bytes}                     →      and written; the bytes are transferred
 *   end{}                           →      the file is whole: the sink is ended
 *   discard{code, message}          →      it is not: the sink is destroyed
 *                                   ←      {} when that is done, or {error}
 */
export type SinkOrder =
  | ({ readonly type: 'begin' } & BeginningFile)
  | { readonly type: 'data'; readonly bytes: Uint8Array }
  | { readonly type: 'end' }
  | ({ readonly type: 'discard' } & SinkFailure);

export interface SinkAnswer {
  readonly error?: SinkFailure;
}
