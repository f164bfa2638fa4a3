import { RECORD_BYTES, RING_HEADER_BYTES, RING_MARGIN, RingWord } from './layout.js';

/** What a reading took out of a ring: records in the order of writing, and how many were lost in front of them. */
export interface TraceReading {
  readonly bytes: Uint8Array;
  readonly dropped: number;
}

/** The reading end of a ring. Belongs to one thread. */
export class TraceRingReader {
  readonly #control: Int32Array;
  readonly #records: Uint8Array;
  readonly #capacity: number;
  /** Records up to here were taken, or dropped. */
  #taken = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#control = new Int32Array(memory, 0, RING_HEADER_BYTES / 4);
    this.#records = new Uint8Array(memory, RING_HEADER_BYTES);
    this.#capacity = this.#control[RingWord.CAPACITY]!;
  }

  /** Takes all records that are there. `beforeCopying` is for tests: it runs where a writer can overtake. */
  take(beforeCopying?: () => void): TraceReading {
    const written = this.#written();
    const from = this.#oldest(written);
    beforeCopying?.();
    const copied = this.#copy(from, (written - from) >>> 0);
    const first = this.#oldest(this.#written());
    const overtaken = Math.min((first - from) >>> 0, (written - from) >>> 0);
    const dropped = (from - this.#taken + overtaken) >>> 0;
    this.#taken = written;
    return { bytes: copied.subarray(overtaken * RECORD_BYTES), dropped };
  }

  #written(): number {
    return Atomics.load(this.#control, RingWord.WRITTEN) >>> 0;
  }

  /** The oldest record that is not taken and that the writer, at `written`, cannot be overwriting. */
  #oldest(written: number): number {
    const safe = this.#capacity - Math.ceil(this.#capacity / RING_MARGIN);
    const kept = Math.min((written - this.#taken) >>> 0, safe);
    return (written - kept) >>> 0;
  }

  #copy(from: number, count: number): Uint8Array {
    const bytes = new Uint8Array(count * RECORD_BYTES);
    const start = (from & (this.#capacity - 1)) * RECORD_BYTES;
    const first = Math.min(bytes.byteLength, this.#records.byteLength - start);
    bytes.set(this.#records.subarray(start, start + first));
    bytes.set(this.#records.subarray(0, bytes.byteLength - first), first);
    return bytes;
  }
}
