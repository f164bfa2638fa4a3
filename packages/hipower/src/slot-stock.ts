import type { ChannelResources } from './channel-resources.js';
import { ChannelWord } from './layout/channel-memory.js';
import type { EntryReader, EntryWriter } from './layout/entry-ring.js';
import { payloadOffset, slotStride } from './layout/footer.js';

/** Free slots of a requester, in the application's thread. Nothing is allocated per slot. */
export class SlotStock {
  readonly bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #free: EntryReader;
  readonly #filled: EntryWriter;
  readonly #stride: number;
  /** Slots that were reserved and cancelled. */
  readonly #returned: Int32Array;
  #returnedCount = 0;
  /** Reserved length per slot; −1: not reserved. */
  readonly #lengths: Int32Array;
  #reserved = 0;

  constructor(
    resources: ChannelResources,
    private readonly slots: number,
    slotBytes: number,
  ) {
    const { memory, pool } = resources;
    this.bytes = pool.view();
    this.#words = memory.words;
    this.#free = memory.inwardReader();
    this.#filled = memory.outwardWriter();
    this.#stride = slotStride(slotBytes);
    // At first all slots are free, although they have not come through the ring.
    this.#returned = Int32Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#returnedCount = slots;
    this.#lengths = new Int32Array(slots).fill(-1);
  }

  /** Slots that may be reserved now. */
  get room(): number {
    return this.#returnedCount + this.#free.size;
  }

  /** Slots that are not reserved. */
  get allOthers(): number {
    return this.slots - this.#reserved;
  }

  /** No slot is outstanding: all came back. */
  get allBack(): boolean {
    return this.room === this.allOthers;
  }

  /** A slot, or −1 if none is free. */
  reserve(byteLength: number): number {
    let slot = -1;
    if (this.#returnedCount > 0) {
      this.#returnedCount -= 1;
      slot = this.#returned[this.#returnedCount]!;
    } else if (this.#free.next()) {
      slot = this.#free.a;
    } else {
      return -1;
    }
    this.#lengths[slot] = byteLength;
    this.#reserved += 1;
    return slot;
  }

  isReserved(slot: number): boolean {
    return slot >= 0 && slot < this.slots && this.#lengths[slot]! >= 0;
  }

  /** Where the payload of a reserved slot begins in `bytes`. */
  offsetOf(slot: number): number {
    return payloadOffset(slot, this.#stride, this.#lengths[slot]!);
  }

  /** Passes a filled slot to the worker; true: the worker must be kicked. */
  commit(slot: number, remainingBytes: number): boolean {
    this.#filled.push(slot, this.#lengths[slot]!, remainingBytes, 0);
    this.#lengths[slot] = -1;
    this.#reserved -= 1;
    return Atomics.exchange(this.#words, ChannelWord.KICKED, 1) === 0;
  }

  cancel(slot: number): void {
    this.#lengths[slot] = -1;
    this.#reserved -= 1;
    this.#returned[this.#returnedCount] = slot;
    this.#returnedCount += 1;
  }

  /** Requests an event for the time when that many slots may be reserved. Look once more afterwards, and then wait. */
  wantRoom(slots: number): void {
    const entries = Math.max(1, slots - this.#returnedCount);
    // The worker computes it from the difference of head and tail.
    this.#free.publish();
    const wanted = Atomics.load(this.#words, ChannelWord.WAITING);
    // The waiter that needs the fewest slots is woken first; then all waiters request again.
    Atomics.store(this.#words, ChannelWord.WAITING, wanted === 0 ? entries : Math.min(wanted, entries));
  }

  /** Tells the worker that no slot follows after those that were committed. */
  end(): void {
    Atomics.store(this.#words, ChannelWord.ENDING, 1);
  }
}
