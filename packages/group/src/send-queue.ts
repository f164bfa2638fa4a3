import { Deferred } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { SENDS_IN_WORKER } from './constants.js';
import { AbortError } from './errors.js';

/** A part of a region, checked. */
export interface SendRange {
  readonly region: MemoryRegion;
  readonly offset: number;
  readonly byteLength: number;
}

interface Entry {
  /** Undefined while the message has no memory. */
  range: SendRange | undefined;
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

/** A root's messages, in order. A few are in the worker; the others wait here, where they can still be withdrawn. */
export class SendQueue {
  readonly #waiting: Entry[] = [];
  readonly #started: Entry[] = [];
  #nextNumber = 0;
  #onIdle: (() => void) | undefined;

  constructor(private readonly post: (number: number, range: SendRange) => void) {}

  /** Messages handed to the worker so far. */
  get count(): number {
    return this.#nextNumber;
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

  /** Rejects all messages. Call it when the device does not use their memory any more. */
  fail(error: unknown): void {
    const entries = [...this.#started.splice(0), ...this.#waiting.splice(0)];
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

  #add(range: SendRange | undefined, hold: Disposable): Entry {
    const entry: Entry = { range, done: new Deferred<void>(), started: false, hold, left: false };
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
    const at = this.#waiting.indexOf(entry);
    if (at === -1) return;
    this.#waiting.splice(at, 1);
    entry.left = true;
    entry.hold[Symbol.dispose]();
    // It may have held up messages behind it.
    this.#fill();
    this.#checkIdle();
  }

  #fill(): void {
    while (this.#started.length < SENDS_IN_WORKER && this.#waiting.length > 0) {
      const { range } = this.#waiting[0]!;
      if (!range) return;
      const entry = this.#waiting.shift()!;
      entry.started = true;
      this.#started.push(entry);
      this.post(this.#nextNumber, range);
      this.#nextNumber = (this.#nextNumber + 1) >>> 0;
    }
  }

  #checkIdle(): void {
    if (this.idle) this.#onIdle?.();
  }
}
