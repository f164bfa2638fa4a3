import { ControlWord, ENTRY_HEADER_BYTES, entryUnits, SKIP_FLAG, UNIT_BYTES, UNIT_SHIFT } from './layout.js';

/** Gets the entries that were copied out, in their order. */
export type EntrySink = (number: number, offset: number, byteLength: number) => void;

/** Gets the entries that skip numbers. */
export type SkipSink = (number: number, count: number) => void;

/** The root wrote an entry that is not one. */
export class EntryViolation extends Error {
  override readonly name = 'EntryViolation';
}

/**
 * Copies entries out of a receiver's rings, in the application's thread. The root may change the ring at any time, so
 * entries are read from the copy only. Drawn in `layout.ts`.
 */
export class EntryReader {
  #ring!: Uint8Array;
  /** The full ring, while the first one is in use. */
  #full: Uint8Array | undefined;
  #isGrown = false;
  readonly #control: Int32Array;
  #mask!: number;
  #ackUnits!: number;
  #tail = 0;
  /** The position of which the worker was notified last. */
  #told = 0;

  constructor(
    ring: Uint8Array,
    control: Int32Array,
    private readonly mostBytes: number,
    /** Notifies the worker. */
    private readonly kick: () => void,
    /** Undefined: the group does not have such entries. */
    private readonly skipped?: SkipSink,
  ) {
    this.#control = control;
    this.#use(ring);
  }

  /** The full ring, before the root may write to it. It is read from the position that the control words give. */
  offer(full: Uint8Array): void {
    this.#full = full;
  }

  /** Bytes in the ring. */
  get available(): number {
    return ((Atomics.load(this.#control, ControlWord.HEAD) - this.#tail) >>> 0) * UNIT_BYTES;
  }

  /** Asks for an event when entries arrive. Look once more afterwards. */
  wantEntries(): void {
    Atomics.store(this.#control, ControlWord.WAITING, 1);
  }

  /**
   * Copies as many whole entries as the target has room for, from its byte `at` on, a multiple of 8. Returns the bytes that
   * they use; 0: there are none, or not even one fits.
   * @throws EntryViolation if the first entry is longer than the limit of the group, or than what has arrived, and for entries in a
   *   full ring that was not offered
   */
  copyOut(target: Uint8Array, at: number, sink: EntrySink): number {
    const available = this.#inRing();
    const copied = Math.min(available, target.byteLength - at);
    if (copied === 0) return 0;
    this.#copy(target, at, copied);
    const words = new Uint32Array(target.buffer, target.byteOffset, target.byteLength >>> 2);
    let used = 0;
    while (copied - used >= ENTRY_HEADER_BYTES) {
      const base = (at + used) >>> 2;
      const byteLength = words[base + 1]!;
      if (byteLength >= SKIP_FLAG && this.skipped) {
        this.skipped(words[base]!, byteLength - SKIP_FLAG);
        used += ENTRY_HEADER_BYTES;
        continue;
      }
      const whole =
        byteLength <= this.mostBytes ? entryUnits(byteLength) * UNIT_BYTES : Number.POSITIVE_INFINITY;
      // Entries in front of an invalid one are valid: the next call throws.
      if (whole > available && used === 0) throw this.#violation(byteLength, available);
      if (whole > copied - used) break;
      sink(words[base]!, at + used + ENTRY_HEADER_BYTES, byteLength);
      used += whole;
    }
    this.#consumed(used);
    return used;
  }

  /** Bytes in the ring in use. */
  #inRing(): number {
    const { available } = this;
    // In this order: entries of the full ring are behind the words that announce it.
    if (this.#isGrown || Atomics.load(this.#control, ControlWord.GROWN) === 0) return available;
    const left = ((Atomics.load(this.#control, ControlWord.GROWN_AT) - this.#tail) >>> 0) * UNIT_BYTES;
    if (left > 0 || available === 0) return Math.min(left, available);
    // The worker knows it before the application offers it, and its address goes to the root afterwards.
    if (!this.#full)
      throw new EntryViolation('wrote a small message into a full ring before it had its address');
    this.#use(this.#full);
    this.#full = undefined;
    this.#isGrown = true;
    return available;
  }

  #use(ring: Uint8Array): void {
    this.#ring = ring;
    this.#mask = (ring.byteLength >>> UNIT_SHIFT) - 1;
    this.#ackUnits = ring.byteLength >>> (UNIT_SHIFT + 2);
  }

  #consumed(used: number): void {
    this.#tail = (this.#tail + (used >>> UNIT_SHIFT)) >>> 0;
    Atomics.store(this.#control, ControlWord.TAIL, this.#tail | 0);
    if ((this.#tail - this.#told) >>> 0 < this.#ackUnits) return;
    this.#told = this.#tail;
    if (Atomics.exchange(this.#control, ControlWord.KICKED, 1) === 0) this.kick();
  }

  #copy(target: Uint8Array, at: number, copied: number): void {
    const start = (this.#tail & this.#mask) << UNIT_SHIFT;
    const first = Math.min(copied, this.#ring.byteLength - start);
    target.set(this.#ring.subarray(start, start + first), at);
    if (first < copied) target.set(this.#ring.subarray(0, copied - first), at + first);
  }

  #violation(byteLength: number, available: number): EntryViolation {
    return new EntryViolation(
      `wrote a small message of ${byteLength} bytes, at most ${this.mostBytes} are agreed and ${available} have arrived`,
    );
  }
}
