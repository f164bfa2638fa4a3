import type { MemoryRegion } from '@rdmc/verbs';
import type { ReceivedMessage } from '../received-message.js';
import { Arrivals } from '../small/arrivals.js';
import { EntryReader, EntryViolation } from '../small/entry-reader.js';
import { OrderViolation } from '../small/order-merge.js';
import type { SenderCounts } from './sender-counts.js';

/** The ring of a sender at this member, and what it needs. */
export interface StreamSource {
  /** Index of the sender, and its id. */
  readonly sender: number;
  readonly id: number;
  /** The bytes of the ring, and its control words. */
  readonly bytes: Uint8Array;
  readonly control: Int32Array;
  readonly mostBytes: number;
  /** With the order 'total': senders skip numbers. */
  readonly skips: boolean;
  /** Notifies the worker. */
  readonly kick: () => void;
  readonly allocate: (byteLength: number) => Promise<MemoryRegion>;
}

/** What comes from one sender of many: copies messages out of its ring, and checks their numbers. */
export class SenderStream {
  readonly sender: number;
  readonly id: number;
  readonly #reader: EntryReader;
  readonly #arrivals: Arrivals;
  readonly #take: (message: ReceivedMessage) => void;
  /** Messages with wrong numbers: the memory of their neighbours is in use while they are not released. */
  readonly #refused: ReceivedMessage[] = [];
  /** Messages are copied out although the application does not take them. */
  drains = false;
  #isGrowing = false;
  #violation: unknown;

  constructor(
    { sender, id, bytes, control, mostBytes, skips, kick, allocate }: StreamSource,
    private readonly counts: SenderCounts,
    sink: (message: ReceivedMessage) => void,
  ) {
    this.sender = sender;
    this.id = id;
    const skip = (number: number, count: number): void => {
      this.#checked(() => counts.skipped(sender, number, count));
    };
    this.#reader = new EntryReader(bytes, control, mostBytes, kick, skips ? skip : undefined);
    this.#arrivals = new Arrivals(this.#reader, mostBytes, id, allocate);
    this.#take = (message) => {
      if (this.#isNext(message)) sink(message);
      else this.#refused.push(message);
    };
  }

  /** The ring may grow to this one. */
  growRing(full: Uint8Array): void {
    this.#reader.offer(full);
  }

  /** Messages that were copied out, and their bytes. */
  get messages(): number {
    return this.#arrivals.messages;
  }

  get bytes(): number {
    return this.#arrivals.bytes;
  }

  /**
   * Copies messages out while they are wanted, then asks for an event when more arrive. `grown` is called later if there is no
   * memory now. Returns why the sender broke the protocol; undefined: it did not.
   */
  copyOut(isWanted: () => boolean, grown: (error?: unknown) => void): string | undefined {
    let asked = false;
    try {
      while (isWanted()) {
        if (this.#takeSome()) continue;
        if (this.#arrivals.isAvailable) {
          this.#grow(grown);
          return undefined;
        }
        if (asked) return undefined;
        // Entries that came before the request are not announced.
        this.#arrivals.wantEntries();
        asked = true;
      }
    } catch (error) {
      if (!(error instanceof EntryViolation || error instanceof OrderViolation)) throw error;
      return error.message;
    }
    return undefined;
  }

  /** Nothing is written any more: copies out the rest. */
  async finish(): Promise<void> {
    try {
      while (this.#arrivals.isAvailable) {
        if (!this.#takeSome()) await this.#arrivals.grow();
      }
    } catch {
      // An invalid entry, or no memory: the messages in front of it were delivered.
    }
  }

  /** The group has ended. */
  close(): void {
    for (const message of this.#refused.splice(0)) message.release();
    void this.#arrivals.close();
  }

  #takeSome(): boolean {
    const isTaken = this.#arrivals.take(this.#take);
    if (this.#violation !== undefined) throw this.#violation;
    return isTaken;
  }

  #isNext(message: ReceivedMessage): boolean {
    return this.#checked(() => message.numberAs(this.counts.message(this.sender, message.number)));
  }

  /** Keeps the violation for later: the entries in front of it are valid. False if there was one. */
  #checked(action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof OrderViolation)) throw error;
      this.#violation ??= error;
      return false;
    }
  }

  /** Once: every look at the rings comes here again while the memory is being allocated. */
  #grow(grown: (error?: unknown) => void): void {
    if (this.#isGrowing) return;
    this.#isGrowing = true;
    this.#arrivals.grow().then(
      () => {
        this.#isGrowing = false;
        grown();
      },
      (error: unknown) => grown(error),
    );
  }
}
