import type { ChannelResources } from './channel-resources.js';
import { ChannelWord, END_OF_PEER } from './layout/channel-memory.js';
import type { EntryReader, EntryWriter } from './layout/entry-ring.js';
import { payloadOffset, slotStride } from './layout/footer.js';
import { bitOf } from './machine/bits.js';

/** Result of `take` without a message. */
export const NONE = -1;

export interface DeliverySettings {
  /** Of one peer. */
  readonly slots: number;
  readonly slotBytes: number;
  readonly peers: number;
  readonly perRequest: boolean;
  /** Messages that may be released before the requesters are notified. */
  readonly refreshLimit: number;
  /** Looks cost READs, so the worker stops looking while enough slots are unread. */
  readonly mayWantKick: boolean;
}

/**
 * Delivered slots in the application's thread, combined to messages. A handle identifies a message: the place of
 * its first slot in the low bits, and above it how often that place was used, so that a stale handle is detected.
 * Nothing is allocated per message.
 */
export class DeliveryTable {
  readonly bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #arrived: EntryReader;
  readonly #released: EntryWriter;
  readonly #bits: Int32Array[];
  readonly #stride: number;
  readonly #placeBits: number;
  readonly #placeMask: number;
  readonly #useMask: number;
  /** Per place: length of the slot's payload, of the whole message, the next place, and the uses, odd while held. */
  readonly #lengths: Int32Array;
  readonly #sizes: Float64Array;
  readonly #nexts: Int32Array;
  readonly #uses: Int32Array;
  private readonly slots: number;
  private readonly perRequest: boolean;
  private readonly refreshLimit: number;
  private readonly mayWantKick: boolean;
  readonly #isHeld: Uint8Array;
  /** Per peer: first and last place of a message that is not complete yet. */
  readonly #firsts: Int32Array;
  readonly #lasts: Int32Array;
  readonly #deliveredSlots: Float64Array;
  readonly #releasedSlots: Float64Array;

  constructor(
    resources: ChannelResources,
    settings: DeliverySettings,
    private readonly onEnd: (peer: number) => void,
  ) {
    const { slots, slotBytes, peers } = settings;
    this.slots = slots;
    this.perRequest = settings.perRequest;
    this.refreshLimit = settings.refreshLimit;
    this.mayWantKick = settings.mayWantKick;
    const places = slots * peers;
    const { memory, pool } = resources;
    this.bytes = pool.view();
    this.#words = memory.words;
    this.#arrived = memory.inwardReader();
    this.#released = memory.outwardWriter();
    this.#bits = Array.from({ length: peers }, (_, peer) => resources.releasedBits(peer));
    this.#stride = slotStride(slotBytes);
    this.#placeBits = Math.ceil(Math.log2(Math.max(2, places)));
    this.#placeMask = (1 << this.#placeBits) - 1;
    this.#useMask = (1 << (31 - this.#placeBits)) - 1;
    this.#lengths = new Int32Array(places);
    this.#sizes = new Float64Array(places);
    this.#nexts = new Int32Array(places);
    this.#uses = new Int32Array(places);
    this.#isHeld = new Uint8Array(places);
    this.#firsts = new Int32Array(peers).fill(NONE);
    this.#lasts = new Int32Array(peers).fill(NONE);
    this.#deliveredSlots = new Float64Array(peers);
    this.#releasedSlots = new Float64Array(peers);
  }

  /** The worker has stopped looking, and must be kicked now because few slots are left to read. */
  get wantsKick(): boolean {
    if (!this.mayWantKick || this.#arrived.sizeSeen > this.refreshLimit) return false;
    if (Atomics.load(this.#words, ChannelWord.WANTS_KICK) === 0) return false;
    if (this.#arrived.size > this.refreshLimit) return false;
    this.#arrived.publish();
    return Atomics.exchange(this.#words, ChannelWord.WANTS_KICK, 0) === 1;
  }

  get isEmpty(): boolean {
    return this.#arrived.size === 0;
  }

  delivered(peer: number): number {
    return this.#deliveredSlots[peer]!;
  }

  released(peer: number): number {
    return this.#releasedSlots[peer]!;
  }

  /** Handle of the next complete message, or NONE. */
  take(): number {
    const arrived = this.#arrived;
    while (arrived.next()) {
      const peer = arrived.a;
      if (arrived.b === END_OF_PEER) {
        this.onEnd(peer);
        continue;
      }
      const first = this.#append(peer, peer * this.slots + arrived.b, arrived.c, arrived.d);
      if (arrived.d === 0) return this.#hold(peer, first);
    }
    return NONE;
  }

  /** Whether the handle is that of a message that is held now. */
  isHeld(handle: number): boolean {
    const place = this.#placeOf(handle);
    return (
      handle >= 0 &&
      place < this.#isHeld.length &&
      this.#isHeld[place] === 1 &&
      handle >>> this.#placeBits === (this.#uses[place]! & this.#useMask)
    );
  }

  peerOf(handle: number): number {
    return Math.trunc(this.#placeOf(handle) / this.slots);
  }

  sizeOf(handle: number): number {
    return this.#sizes[this.#placeOf(handle)]!;
  }

  /** Where the first slot's payload begins in `bytes`, and how long it is. */
  offsetOf(handle: number): number {
    const place = this.#placeOf(handle);
    return payloadOffset(place, this.#stride, this.#lengths[place]!);
  }

  lengthOf(handle: number): number {
    return this.#lengths[this.#placeOf(handle)]!;
  }

  /** Views of the message's slots, in order. */
  partsOf(handle: number): Uint8Array[] {
    const parts: Uint8Array[] = [];
    for (let place = this.#placeOf(handle); place !== NONE; place = this.#nexts[place]!) {
      const offset = payloadOffset(place, this.#stride, this.#lengths[place]!);
      parts.push(this.bytes.subarray(offset, offset + this.#lengths[place]!));
    }
    return parts;
  }

  /** Releases a message's slots: toggles their bits of P, once each. True: the worker must be kicked. */
  release(handle: number): boolean {
    const first = this.#placeOf(handle);
    const peer = Math.trunc(first / this.slots);
    const bits = this.#bits[peer]!;
    this.#isHeld[first] = 0;
    for (let place = first; place !== NONE; place = this.#nexts[place]!) {
      const slot = place - peer * this.slots;
      Atomics.xor(bits, slot >> 5, bitOf(slot));
      if (this.perRequest) this.#released.push(peer, slot, 0, 0);
      this.#releasedSlots[peer]! += 1;
    }
    return this.perRequest && Atomics.exchange(this.#words, ChannelWord.KICKED, 1) === 0;
  }

  /** Requests an event for the next arrival. Look once more afterwards, and then wait. */
  wantEvent(): void {
    this.#arrived.publish();
    Atomics.store(this.#words, ChannelWord.WAITING, 1);
  }

  /** Adds a slot to its peer's message; the message's first place. */
  #append(peer: number, place: number, length: number, remaining: number): number {
    this.#deliveredSlots[peer]! += 1;
    this.#lengths[place] = length;
    this.#nexts[place] = NONE;
    let first = this.#firsts[peer]!;
    if (first === NONE) {
      first = place;
      this.#firsts[peer] = place;
      this.#sizes[place] = length + remaining;
    } else {
      this.#nexts[this.#lasts[peer]!] = place;
    }
    this.#lasts[peer] = place;
    return first;
  }

  #hold(peer: number, place: number): number {
    this.#firsts[peer] = NONE;
    this.#lasts[peer] = NONE;
    this.#isHeld[place] = 1;
    this.#uses[place] = (this.#uses[place]! + 1) | 0;
    return ((this.#uses[place]! & this.#useMask) << this.#placeBits) | place;
  }

  #placeOf(handle: number): number {
    return handle & this.#placeMask;
  }
}
