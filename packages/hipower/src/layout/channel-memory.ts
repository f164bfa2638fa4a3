/**
 * Memory that the application's thread and the worker share for one channel: a region that no peer can access.
 * 32-bit words; each line of 64 bytes has one writing thread unless said otherwise; byte offsets:
 * ```
 *      0  kicked             1: the worker was notified of work, or looks soon anyway (set by the
 *                            application, or by a requester's worker that requests a look; cleared by the worker
 *                            before it looks)
 *     64  waiting            inward entries at which the application wants an event, 0: it does not wait (set by the
 *                            application, cleared by the worker when it sends the event)
 *    128  ending             1: no slot follows after those in the ring            application
 *    192  outward head       entries published, modulo 2^32                        application
 *    256  outward tail       entries read, or somewhat fewer                       worker
 *    320  inward head        entries published                                     worker
 *    384  inward tail        entries read, or somewhat fewer                       application
 *    448  wants a kick        1: the worker stopped looking, because enough is unread (set by the worker, cleared by
 *                            the application when it kicks)
 *    512  counters           COUNTERS float64 of the channel, then PEER_COUNTERS for each peer     worker
 *      …  outward entries    of 4 words, a power of two of them
 *      …  inward entries     likewise
 * ```
 * Requester: outward are filled slots {slot, length, remaining, 0}, inward free slots {slot, 0, 0, 0}.
 * Responder: inward are delivered slots {peer, slot, length, remaining}, outward released ones {peer, slot, 0, 0}
 * (confirmation per work request only); slot END_OF_PEER: a requester has ended, and all its slots were delivered.
 * A slot is in a ring at most once, and so is the end of a peer, so a ring is never full.
 */
import { powerOfTwo } from '../machine/bits.js';
import { EntryReader, EntryWriter } from './entry-ring.js';

export const ChannelWord = {
  KICKED: 0,
  WAITING: 16,
  ENDING: 32,
  OUT_HEAD: 48,
  OUT_TAIL: 64,
  IN_HEAD: 80,
  IN_TAIL: 96,
  WANTS_KICK: 112,
} as const;

/** Float64 counters of a channel. */
export const Counter = {
  /** Slots written or delivered, counted once for any number of peers. */
  SLOTS: 0,
  BYTES: 1,
  /** Bitmap READs posted, and those that showed nothing new. */
  READS: 2,
  FRUITLESS_READS: 3,
  /** Bitmaps pushed. */
  PUSHES: 4,
  /** Looks at a pushed bitmap in local memory, and those that showed nothing new. */
  LOOKS: 5,
  FRUITLESS_LOOKS: 6,
  /** SENDs that confirm one slot each, posted or received. */
  CONFIRMATIONS: 7,
  /** Events to the application. */
  EVENTS: 8,
  /** Pauses on a timer. */
  PAUSES: 9,
} as const;
export const COUNTERS = 16;
export const END_OF_PEER = -1;
export const PeerCounter = { SLOTS: 0, RELEASED: 1 } as const;
export const PEER_COUNTERS = 2;

const COUNTERS_OFFSET = 512;
const ENTRY_WORDS = 4;

function countersBytes(peers: number): number {
  return Math.ceil(((COUNTERS + peers * PEER_COUNTERS) * 8) / 64) * 64;
}

function capacityFor(slots: number, peers: number): number {
  return powerOfTwo(slots + peers);
}

/** Length of the region for a channel of that many slots, all peers together. */
export function channelMemoryBytes(slots: number, peers: number): number {
  return COUNTERS_OFFSET + countersBytes(peers) + 2 * capacityFor(slots, peers) * ENTRY_WORDS * 4;
}

/** One thread's view of the region. */
export class ChannelMemory {
  readonly words: Int32Array;
  readonly counters: Float64Array;
  readonly #rings: Int32Array;
  readonly #capacity: number;

  constructor(view: Uint8Array, slots: number, peers: number) {
    const { buffer, byteOffset } = view;
    this.words = new Int32Array(buffer, byteOffset, COUNTERS_OFFSET / 4);
    this.counters = new Float64Array(buffer, byteOffset + COUNTERS_OFFSET, COUNTERS + peers * PEER_COUNTERS);
    this.#capacity = capacityFor(slots, peers);
    const ringsAt = byteOffset + COUNTERS_OFFSET + countersBytes(peers);
    this.#rings = new Int32Array(buffer, ringsAt, 2 * this.#capacity * ENTRY_WORDS);
  }

  /** Zeroes it before either thread uses it: a region may come from a pool. */
  clear(): void {
    this.words.fill(0);
    this.counters.fill(0);
  }

  outwardWriter(): EntryWriter {
    return new EntryWriter(this.words, ChannelWord.OUT_HEAD, this.#ring(0));
  }

  outwardReader(): EntryReader {
    return new EntryReader(this.words, ChannelWord.OUT_HEAD, ChannelWord.OUT_TAIL, this.#ring(0));
  }

  inwardWriter(): EntryWriter {
    return new EntryWriter(this.words, ChannelWord.IN_HEAD, this.#ring(1));
  }

  inwardReader(): EntryReader {
    return new EntryReader(this.words, ChannelWord.IN_HEAD, ChannelWord.IN_TAIL, this.#ring(1));
  }

  /** Index of a peer's counter. */
  peerCounter(peer: number, counter: number): number {
    return COUNTERS + peer * PEER_COUNTERS + counter;
  }

  #ring(index: number): Int32Array {
    const words = this.#capacity * ENTRY_WORDS;
    return this.#rings.subarray(index * words, (index + 1) * words);
  }
}
