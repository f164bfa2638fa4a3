import { Deferred, Fifo } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { SENDS_IN_WORKER } from './constants.js';
import { AbortError } from './errors.js';
import { detached } from './message-bytes.js';
import type { EntryWriter } from './small/entry-writer.js';

/** A part of a region, checked. */
export interface SendRange {
  readonly region: MemoryRegion;
  readonly offset: number;
  readonly byteLength: number;
}

/** Small messages that wait for their turn, or for room in the ring. */
interface SmallBatch {
  readonly messages: readonly Uint8Array[];
  /** Their lengths at the time of the call. */
  readonly lengths: readonly number[];
  /** The first one that was not written. */
  next: number;
}

interface Entry {
  /** Undefined while the message has no memory, and for small messages. */
  range: SendRange | undefined;
  readonly batch: SmallBatch | undefined;
  readonly done: Deferred<void>;
  started: boolean;
  /** Disposed of when the message does not need its memory, or its request for memory, any more. */
  hold: Disposable;
  /** Not in the queue any more. */
  left: boolean;
}

/** The place of a message in the queue, before it has memory. */
export interface ReservedPlace {
  /** As the promise of `enqueue`. */
  readonly done: Promise<void>;
  /** Whether the message was not withdrawn, and the group has not failed. */
  isWaiting(): boolean;
  /** Gives the message its memory, which is in use until `hold` is disposed of. */
  fill(range: SendRange, hold: Disposable): void;
  /** The message cannot get memory: it leaves the queue, and its promise rejects. */
  fail(error: unknown): void;
}

const NO_HOLD: Disposable = { [Symbol.dispose]: () => {} };

/**
 * A root's messages, in order; they get their numbers here. A few are in the worker; the others wait here, where they can
 * still be withdrawn. A small message is copied into the ring as soon as no other one waits, and has left the queue then.
 */
export class SendQueue {
  readonly #waiting = new Fifo<Entry>();
  readonly #started: Entry[] = [];
  /** Messages that have a number. */
  #count = 0;
  #writer: EntryWriter | undefined;
  #willPublish = false;
  #onIdle: (() => void) | undefined;
  #isStopped = false;

  constructor(private readonly post: (number: number, range: SendRange) => void) {}

  /** Messages that were handed to the worker so far, over both paths. */
  get count(): number {
    return this.#count;
  }

  /** The group has a ring for small messages. */
  useRing(writer: EntryWriter): void {
    this.#writer = writer;
  }

  /** All members have a full ring. Returns the position from which on it has the entries. */
  growRing(full: Uint8Array): number {
    return this.#writer!.grow(full);
  }

  /** Copies a small message into the ring at once; false: it has to wait, or there is no ring. */
  trySmall(bytes: Uint8Array): boolean {
    if (this.#waiting.length > 0 || !this.#writer?.tryWrite(this.#count >>> 0, bytes)) return false;
    this.#count += 1;
    this.#publishSoon();
    return true;
  }

  /**
   * Skips numbers, which no message gets. False if messages wait, which then take these numbers, or if the ring is full: an
   * event follows when it has room.
   */
  skip(count: number): boolean {
    const writer = this.#writer!;
    if (this.#waiting.length > 0 || this.#isStopped) return false;
    const number = this.#count >>> 0;
    if (!writer.trySkip(number, count)) {
      writer.wantRoom();
      // Room that was made before the request is not announced.
      if (!writer.trySkip(number, count)) return false;
    }
    this.#count += count;
    return true;
  }

  /** Queues small messages; resolves when they were copied into the ring. */
  enqueueSmall(messages: readonly Uint8Array[], signal: AbortSignal | undefined): Promise<void> {
    const lengths = messages.map(({ byteLength }) => byteLength);
    const entry = this.#add(undefined, NO_HOLD, { messages, lengths, next: 0 });
    const done = signal ? this.#abortable(entry, signal) : entry.done.promise;
    this.#fill();
    return done;
  }

  /** There is more room in the ring. */
  roomMade(): void {
    this.#fill();
    this.#checkIdle();
  }

  get idle(): boolean {
    return this.#waiting.length === 0 && this.#started.length === 0;
  }

  enqueue(range: SendRange, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(new AbortError('The send', signal));
    // The region cannot be closed before the message is sent: `close()` waits.
    return this.enqueueHeld(range, range.region.hold(), signal);
  }

  /** Queues a message whose memory is in use until `hold` is disposed of. */
  enqueueHeld(range: SendRange, hold: Disposable, signal: AbortSignal | undefined): Promise<void> {
    const entry = this.#add(range, hold);
    this.#fill();
    return signal ? this.#abortable(entry, signal) : entry.done.promise;
  }

  /**
   * A place for a message that waits for memory. Later messages stay behind it.
   * @param request disposed of if the message leaves the queue without memory
   */
  reserve(request: Disposable, signal: AbortSignal | undefined): ReservedPlace {
    const entry = this.#add(undefined, request);
    return {
      done: signal ? this.#abortable(entry, signal) : entry.done.promise,
      isWaiting: () => !entry.left,
      fill: (range, hold) => {
        entry.range = range;
        entry.hold = hold;
        this.#fill();
      },
      fail: (error) => {
        this.#withdraw(entry);
        entry.done.reject(error);
      },
    };
  }

  /** The oldest message in the worker was sent. */
  finished(): void {
    const entry = this.#started.shift()!;
    entry.hold[Symbol.dispose]();
    entry.done.resolve();
    this.#fill();
    this.#checkIdle();
  }

  /** The group has failed: no message starts any more. Memory of the ring may be freed then. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Rejects all messages. Call it when the device does not use their memory any more. */
  fail(error: unknown): void {
    const entries = [...this.#started.splice(0), ...this.#waiting.drain()];
    for (const entry of entries) entry.left = true;
    for (const entry of entries) {
      entry.hold[Symbol.dispose]();
      entry.done.reject(error);
    }
  }

  /** Calls back once the queue is empty. */
  whenIdle(listener: () => void): void {
    this.#onIdle = listener;
    this.#checkIdle();
  }

  #add(range: SendRange | undefined, hold: Disposable, batch?: SmallBatch): Entry {
    const entry: Entry = { range, batch, done: new Deferred<void>(), started: false, hold, left: false };
    this.#waiting.push(entry);
    return entry;
  }

  #abortable(entry: Entry, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        if (!entry.started) this.#withdraw(entry);
        const settled = entry.started ? entry.done.promise.catch(() => {}) : Promise.resolve();
        reject(new AbortError('The send', signal, settled));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const stop = (): void => signal.removeEventListener('abort', onAbort);
      entry.done.promise.then(resolve, reject).finally(stop);
    });
  }

  #withdraw(entry: Entry): void {
    if (!this.#waiting.remove((each) => each === entry)) return;
    entry.left = true;
    entry.hold[Symbol.dispose]();
    // It may have held up messages behind it.
    this.#fill();
    this.#checkIdle();
  }

  #fill(): void {
    for (let entry = this.#waiting.peek(); entry && !this.#isStopped; entry = this.#waiting.peek()) {
      const { range, batch } = entry;
      if (batch) {
        if (!this.#write(entry, batch)) return;
        this.#waiting.shift();
        entry.left = true;
      } else {
        if (!range || this.#started.length >= SENDS_IN_WORKER) return;
        this.#waiting.shift();
        entry.started = true;
        this.#started.push(entry);
        this.post(this.#count >>> 0, range);
        this.#count += 1;
      }
    }
  }

  /** Copies small messages into the ring; false if they have to wait for room. */
  #write(entry: Entry, batch: SmallBatch): boolean {
    const writer = this.#writer!;
    let asked = false;
    while (batch.next < batch.messages.length) {
      const bytes = batch.messages[batch.next]!;
      if (bytes.byteLength !== batch.lengths[batch.next]) {
        entry.done.reject(detached());
        // Those in front of it have their numbers.
        writer.publish();
        return true;
      }
      if (writer.tryWrite(this.#count >>> 0, bytes)) {
        this.#count += 1;
        batch.next += 1;
      } else if (asked) return false;
      else {
        // Room that was made before the request is not announced.
        writer.wantRoom();
        asked = true;
      }
    }
    writer.publish();
    entry.started = true;
    entry.done.resolve();
    return true;
  }

  /** Messages that one piece of synchronous code sends share one notice to the worker. */
  #publishSoon(): void {
    if (this.#willPublish) return;
    this.#willPublish = true;
    queueMicrotask(this.#publish);
  }

  readonly #publish = (): void => {
    this.#willPublish = false;
    this.#writer?.publish();
  };

  #checkIdle(): void {
    if (this.idle) this.#onIdle?.();
  }
}
