import { ControlWord, ENTRY_HEADER_BYTES, entryUnits, SKIP_FLAG, UNIT_SHIFT } from './layout.js';

/**
 * Entries, and the part of a ring, that are written before the worker learns of them, unless the sender says so earlier. A ring
 * that was given to the worker only when it is full would be written, sent and read by turns, not at once.
 */
const PUBLISH_EVERY = 64;
const PUBLISH_PART = 8;
/** Payloads up to this length are copied byte by byte: a call of `set` costs more. */
const BYTEWISE = 24;

/** Writes entries into the root's rings, in the application's thread. Drawn in `layout.ts`. */
export class EntryWriter {
  #ring!: Uint8Array;
  #words!: Uint32Array;
  readonly #control: Int32Array;
  #units!: number;
  #mask!: number;
  #publishUnits!: number;
  #head = 0;
  #tail = 0;
  #published = 0;
  #unpublished = 0;
  #messages = 0;
  #bytes = 0;

  constructor(
    ring: Uint8Array,
    control: Int32Array,
    /** Notifies the worker. */
    private readonly kick: () => void,
    /** Called with the position behind the last entry that the worker was given. */
    private readonly published?: (head: number) => void,
  ) {
    this.#control = control;
    this.#use(ring);
  }

  /** Called each time when there is no room. */
  onFull: (() => void) | undefined;

  /**
   * Later entries go to the full ring. The worker knows it, and so do all receivers. Returns the position from which on it has
   * them.
   */
  grow(full: Uint8Array): number {
    this.publish();
    Atomics.store(this.#control, ControlWord.GROWN_AT, this.#head | 0);
    Atomics.store(this.#control, ControlWord.GROWN_MESSAGES, this.#messages);
    Atomics.store(this.#control, ControlWord.GROWN_BYTES, this.#bytes);
    Atomics.store(this.#control, ControlWord.GROWN, 1);
    this.#use(full);
    this.#notify();
    return this.#head;
  }

  /**
   * Copies a message into the ring. The worker sees it after `publish`. False if there is no room for it: then the worker
   * sees the messages before it.
   */
  tryWrite(number: number, bytes: Uint8Array): boolean {
    const { byteLength } = bytes;
    const units = entryUnits(byteLength);
    if (!this.#hasRoom(units)) {
      // Room comes only from entries that the worker sends.
      this.publish();
      this.onFull?.();
      return false;
    }
    const at = this.#head & this.#mask;
    this.#words[at * 2] = number;
    this.#words[at * 2 + 1] = byteLength;
    this.#copy((at << UNIT_SHIFT) + ENTRY_HEADER_BYTES, bytes);
    this.#head = (this.#head + units) >>> 0;
    this.#messages = (this.#messages + 1) | 0;
    this.#bytes = (this.#bytes + byteLength) | 0;
    this.#unpublished += 1;
    const isMuch = (this.#head - this.#published) >>> 0 >= this.#publishUnits;
    if (isMuch || this.#unpublished >= PUBLISH_EVERY) this.publish();
    return true;
  }

  /** Writes an entry that skips `count` numbers, 1 to 2^31 − 1; the rest as `tryWrite`. */
  trySkip(number: number, count: number): boolean {
    if (!this.#hasRoom(1)) {
      this.publish();
      this.onFull?.();
      return false;
    }
    const at = this.#head & this.#mask;
    this.#words[at * 2] = number;
    this.#words[at * 2 + 1] = SKIP_FLAG + count;
    this.#head = (this.#head + 1) >>> 0;
    this.publish();
    return true;
  }

  /** Gives the worker all entries. */
  publish(): void {
    this.#unpublished = 0;
    if (this.#published === this.#head) return;
    this.#published = this.#head;
    Atomics.store(this.#control, ControlWord.MESSAGES, this.#messages);
    Atomics.store(this.#control, ControlWord.BYTES, this.#bytes);
    Atomics.store(this.#control, ControlWord.HEAD, this.#head | 0);
    this.#notify();
    this.published?.(this.#head);
  }

  /** Asks for an event when there is more room. Try to write once more afterwards. */
  wantRoom(): void {
    Atomics.store(this.#control, ControlWord.WAITING, 1);
  }

  #use(ring: Uint8Array): void {
    this.#ring = ring;
    this.#words = new Uint32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);
    this.#units = ring.byteLength >>> UNIT_SHIFT;
    this.#mask = this.#units - 1;
    this.#publishUnits = this.#units / PUBLISH_PART;
  }

  #notify(): void {
    if (Atomics.exchange(this.#control, ControlWord.KICKED, 1) === 0) this.kick();
  }

  #hasRoom(units: number): boolean {
    if (this.#free() >= units) return true;
    this.#tail = Atomics.load(this.#control, ControlWord.TAIL) >>> 0;
    return this.#free() >= units;
  }

  #free(): number {
    return this.#units - ((this.#head - this.#tail) >>> 0);
  }

  /** An entry continues at the beginning of the ring when it reaches the end. */
  #copy(at: number, bytes: Uint8Array): void {
    const { byteLength } = bytes;
    const ring = this.#ring;
    const size = ring.byteLength;
    if (byteLength <= BYTEWISE) {
      for (let i = 0; i < byteLength; i += 1) ring[(at + i) & (size - 1)] = bytes[i]!;
      return;
    }
    const start = at & (size - 1);
    const first = Math.min(byteLength, size - start);
    if (first === byteLength) ring.set(bytes, start);
    else {
      ring.set(bytes.subarray(0, first), start);
      ring.set(bytes.subarray(first), 0);
    }
  }
}
