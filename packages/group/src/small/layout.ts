/*
 * The small-message path. The root has a ring, and every receiver a copy of it, which the root writes with one-sided WRITEs.
 *
 *   root                                              receiver (each)
 *   application   entries ──▶ ring ═══ WRITE ═══▶ ring ──▶ copies entries out   application
 *   worker        HEAD of the ring ── immediate ─────▶ HEAD                     worker
 *                 TAIL: least of all ◀── immediate ── TAIL
 *
 * A group begins with a small first ring, because a node may have hundreds of groups of which few are busy. When the root lacks
 * room, the members allocate the full ring (`ring-growth.ts`), and entries from a position on are in that one. At each receiver
 * an empty batch marks the position: a batch that ends where the one before it did. Nothing waits for the full ring; a member
 * without memory for it keeps the group in the first one.
 *
 *   position          0 ………………… GROWN_AT ……………………
 *   place of entries  first ring │ full ring           both: position modulo the units of that ring
 *
 * Both rings have a power of two of units of 8 bytes. Positions are counts of units modulo 2^32; entries follow one another and
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
 *     (a WRITE of no bytes)     bits 15..0   position behind the last entry that was copied out, in granules of the
 *                                            full ring's units / GRANULES, rounded down, modulo 2^16
 *
 * The completion of a receive orders everything that was written before on the queue pair. So an entry needs neither a
 * sequence word nor a checksum, also on a device that places the bytes of WRITEs in any order.
 *
 * Counters. A root has at most MAX_BATCHES batches at a receiver that are not acknowledged, so a receive is there for each;
 * and it writes at most to TAIL + units. A receiver acknowledges half of MAX_BATCHES batches, and a quarter of the ring. So
 * at most two acks for batches and four for units of each of the two rings are unread, and ACK_RECEIVES are posted for them.
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
 *       128  GROWN       1: entries from GROWN_AT on are in the full ring; root: set by the application, receiver: by the worker,
 *                        before the HEAD behind it
 *       129  GROWN_AT    that position
 *       130  GROWN_MESSAGES, 131 GROWN_BYTES    root: MESSAGES and BYTES there
 *
 * In a large group the root writes to relays only, and each relay writes what has arrived in its ring to its children, drawn in
 * `tree.ts`. It is a receiver to its parent and a root to its children: an entry is free at a relay, and acknowledged, when its
 * application has copied it out and its children have acknowledged it. So nobody writes over an entry that somebody needs.
 *
 * A sender that gets its own messages, with the order 'total', has control words as a receiver too, and reads the ring of its
 * messages. Its application writes HEAD there, and the ring is free up to the least TAIL of all receivers, this one included.
 */
import { KIB, MOST_FLAT_MEMBERS } from '../constants.js';

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
  GROWN: 128,
  GROWN_AT: 129,
  GROWN_MESSAGES: 130,
  GROWN_BYTES: 131,
} as const;
export const CONTROL_BYTES = 144 * 4;

/** Batches at a receiver that are not acknowledged. */
export const MAX_BATCHES = 8;
export const ACK_RECEIVES = 12;
/** Granules of a full ring, in which acks count. */
export const GRANULES = 4096;

/** In the second word of an entry: it skips numbers. */
export const SKIP_FLAG = 0x8000_0000;

const LEAST_FULL_RING_BYTES = 512 * KIB;
/**
 * Where more members than that share the processors of a host, each runs seldom. A longer ring lets it do more each time: fewer
 * wake-ups for each message. Groups of many senders keep the shorter one, because each member has one for each sender.
 */
const MOST_MEMBERS_WITH_SHORT_RING = 4;
const LEAST_LONG_RING_BYTES = 2048 * KIB;
const LEAST_FIRST_RING_BYTES = 32 * KIB;
/** Largest entries that a full ring has room for, at least. */
const ENTRIES_PER_FULL_RING = 16;
/**
 * The same of a first ring. Acks may be late by half a ring, and behind a relay by a quarter more; an entry has to fit into the
 * rest, less a granule.
 */
const ENTRIES_PER_FIRST_RING = 2;
const ENTRIES_PER_FIRST_RING_OF_TREE = 4;

/** Units of the two rings of a small-message path: powers of two. */
export interface RingUnits {
  readonly first: number;
  readonly full: number;
}

/** Units of an entry with a payload of that many bytes. */
export function entryUnits(byteLength: number): number {
  return (ENTRY_HEADER_BYTES + byteLength + UNIT_BYTES - 1) >>> UNIT_SHIFT;
}

/** The properties of a group on which its rings depend. */
export interface RingShape {
  readonly smallMessageBytes: number;
  readonly members: number;
  /** Default: one sender. */
  readonly hasManySenders?: boolean;
}

/** Units of the rings of a group. */
export function ringUnits({ smallMessageBytes, members, hasManySenders = false }: RingShape): RingUnits {
  const entry = entryUnits(smallMessageBytes);
  const isLong = members > MOST_MEMBERS_WITH_SHORT_RING && !hasManySenders;
  const least = isLong ? LEAST_LONG_RING_BYTES : LEAST_FULL_RING_BYTES;
  const full = powerOfTwo(least / UNIT_BYTES, ENTRIES_PER_FULL_RING * entry);
  const entries = members > MOST_FLAT_MEMBERS ? ENTRIES_PER_FIRST_RING_OF_TREE : ENTRIES_PER_FIRST_RING;
  const first = powerOfTwo(LEAST_FIRST_RING_BYTES / UNIT_BYTES, entries * (entry + granuleOf(full)));
  return { first, full };
}

/** Units by which acks count. */
export function granuleOf(fullUnits: number): number {
  return Math.max(1, fullUnits / GRANULES);
}

/** The least power of two that is at least both. */
function powerOfTwo(least: number, units: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(least, units)));
}

/** The immediate of an ack. */
export function ackOf(batches: number, tail: number, granuleUnits: number): number {
  return ((batches << 16) | (Math.floor((tail >>> 0) / granuleUnits) & 0xffff)) >>> 0;
}
