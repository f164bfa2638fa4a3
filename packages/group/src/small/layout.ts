/*
 * The small-message path. The root has a ring, and every receiver a copy of it, which the root writes with one-sided WRITEs.
 *
 *   root                                              receiver (each)
 *   application   entries ──▶ ring ═══ WRITE ═══▶ ring ──▶ copies entries out   application
 *   worker        HEAD of the ring ── immediate ─────▶ HEAD                     worker
 *                 TAIL: least of all ◀── immediate ── TAIL
 *
 * The ring has a power of two of units of 8 bytes. Positions are counts of units modulo 2^32; entries follow one another and
 * wrap around the end of the ring. An entry, little endian:
 *
 *   byte  0                    4                    8
 *         +--------------------+--------------------+---------------------  …  -+---------+
 *         | number of message  | length of payload  | payload                   | padding |
 *         |  u32, modulo 2^32  |  u32 bytes         |                           | to 8    |
 *         +--------------------+--------------------+---------------------  …  -+---------+
 *
 * In a group of many senders with the order 'total', a sender that has nothing to send skips numbers. Such an entry is one unit:
 * the first of these numbers, and their count with bit 31 set in place of the length.
 *
 * A batch is everything that is in the root's ring and was not written to a receiver. Its last WRITE carries an immediate,
 * which completes a receive there:
 *
 *   batch, root → receiver      bits 31..0   position behind the last entry
 *   ack, receiver → root        bits 31..16  batches taken, modulo 2^16
 *     (a WRITE of no bytes)     bits 15..0   position behind the last entry that was copied out, in granules of
 *                                            units / GRANULES, rounded down, modulo 2^16
 *
 * The completion of a receive orders everything that was written before on the queue pair. So an entry needs neither a
 * sequence word nor a checksum, also on a device that places the bytes of WRITEs in any order.
 *
 * Counters. A root has at most MAX_BATCHES batches at a receiver that are not acknowledged, so a receive is there for each;
 * and it writes at most to TAIL + units. A receiver acknowledges half of MAX_BATCHES batches, and a quarter of the ring. So
 * at most two acks for batches and four for units are unread, and ACK_RECEIVES are posted for them.
 *
 * Control words of a member: memory without remote access that its two threads share, 32-bit words, each in a line of its own:
 *
 *   word  0  KICKED      1: the worker was notified (application sets, worker clears before it looks)
 *        16  WAITING     1: the application wants an event when HEAD (receiver) or TAIL (root) changes; the worker clears it
 *        32  HEAD        position behind the last entry: root: written by the application; receiver: by the worker
 *        48  TAIL        root: position up to which every receiver is free, written by the worker; receiver: position up to
 *                        which entries were copied out, written by the application
 *        64  MESSAGES    messages in front of HEAD, modulo 2^32 (root, application)
 *        80  BYTES       bytes of these messages, modulo 2^32 (root, application)
 *        96  RELAYED     relay: position up to which all its children have the entries, written by the worker
 *       112  RELAYING    relay: 1: the application wants an event when RELAYED changes; the worker clears it
 *
 * In a large group the root writes to relays only, and each relay writes what has arrived in its ring to its children, drawn in
 * `tree.ts`. It is a receiver to its parent and a root to its children: an entry is free at a relay, and acknowledged, when its
 * application has copied it out and its children have acknowledged it. So nobody writes over an entry that somebody needs.
 *
 * A sender that gets its own messages, with the order 'total', has control words as a receiver too, and reads the ring of its
 * messages. Its application writes HEAD there, and the ring is free up to the least TAIL of all receivers, this one included.
 */
import { KIB } from '../constants.js';

export const UNIT_BYTES = 8;
export const UNIT_SHIFT = 3;
/** Bytes of an entry in front of the payload. */
export const ENTRY_HEADER_BYTES = 8;

export const ControlWord = {
  KICKED: 0,
  WAITING: 16,
  HEAD: 32,
  TAIL: 48,
  MESSAGES: 64,
  BYTES: 80,
  RELAYED: 96,
  RELAYING: 112,
} as const;
export const CONTROL_BYTES = 128 * 4;

/** Batches at a receiver that are not acknowledged. */
export const MAX_BATCHES = 8;
export const ACK_RECEIVES = 8;
/** Granules of a ring, in which acks count. */
export const GRANULES = 4096;

/** In the second word of an entry: it skips numbers. */
export const SKIP_FLAG = 0x8000_0000;

const LEAST_RING_BYTES = 512 * KIB;
/** Largest entries that a ring has room for, at least. */
const ENTRIES_PER_RING = 16;

/** Units of an entry with a payload of that many bytes. */
export function entryUnits(byteLength: number): number {
  return (ENTRY_HEADER_BYTES + byteLength + UNIT_BYTES - 1) >>> UNIT_SHIFT;
}

/** Units of the ring of a group with messages of up to that many bytes in it: a power of two. */
export function ringUnits(smallMessageBytes: number): number {
  const bytes = Math.max(LEAST_RING_BYTES, ENTRIES_PER_RING * entryUnits(smallMessageBytes) * UNIT_BYTES);
  return 2 ** Math.ceil(Math.log2(bytes / UNIT_BYTES));
}

/** The immediate of an ack. */
export function ackOf(batches: number, tail: number, granuleUnits: number): number {
  return ((batches << 16) | (Math.floor((tail >>> 0) / granuleUnits) & 0xffff)) >>> 0;
}
