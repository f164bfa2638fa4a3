/**
 * The control block: one SharedArrayBuffer that both threads map. Every thread may read its counters.
 *
 * Every word that is written while the other side reads it has its own 64-byte line. 32-bit words,
 * used with Atomics only; byte offsets:
 * ```
 *     0  magic 'RDPL'                    4  layout version           8  named counters in use
 *    64  command ring head  bytes written, modulo 2^32    application
 *   128  command ring tail  bytes read, modulo 2^32       worker
 *   192  event ring head    bytes written                 worker
 *   256  event ring tail    bytes read                    application
 *   320  worker sleeping    1: signal its eventfd after writing a command
 *   384  application sleeping  1: signal its eventfd after writing an event
 *   448  command room wanted   set by the application, cleared by the worker once it has drained
 *   512  event room wanted     set by the worker, cleared by the application once it has drained
 *  1024  counters           one float64 each, written by the worker only (order: COUNTER_NAMES)
 *  2048  named counters     64 slots of 64 bytes: f64 value, u32 name length, 52 bytes of UTF-8 name
 *  6144  end
 * ```
 * A thread that goes to sleep stores its word and then reads the ring once more; a writer stores the head and then
 * reads the word. Atomics are sequentially consistent, so at least one of the two sees the other's store.
 *
 * Counters are float64: exact to 2^53, without BigInt on the hot path. Aligned 8-byte stores do not tear on the
 * supported 64-bit processors.
 */
import { MAX_NAMED_COUNTERS } from './constants.js';

/** Indices of 32-bit words. */
export const ControlWord = {
  MAGIC: 0,
  VERSION: 1,
  NAMED_COUNTERS: 2,
  COMMAND_HEAD: 16,
  COMMAND_TAIL: 32,
  EVENT_HEAD: 48,
  EVENT_TAIL: 64,
  WORKER_SLEEPING: 80,
  APPLICATION_SLEEPING: 96,
  COMMAND_ROOM_WANTED: 112,
  EVENT_ROOM_WANTED: 128,
} as const;

export const CONTROL_MAGIC = 0x4c504452;
export const CONTROL_VERSION = 1;
export const COUNTERS_OFFSET = 1024;
export const NAMED_OFFSET = 2048;
export const NAMED_SLOT_BYTES = 64;
export const CONTROL_BYTES = NAMED_OFFSET + MAX_NAMED_COUNTERS * NAMED_SLOT_BYTES;

/** A new control block; the application's thread counts as asleep from the start. */
export function createControl(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(CONTROL_BYTES);
  const words = new Int32Array(buffer);
  words[ControlWord.MAGIC] = CONTROL_MAGIC;
  words[ControlWord.VERSION] = CONTROL_VERSION;
  Atomics.store(words, ControlWord.APPLICATION_SLEEPING, 1);
  return buffer;
}
