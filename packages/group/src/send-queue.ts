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
  readonly range: SendRange;
  readonly done: Deferred<void>;
  started: boolean;
  readonly hold: Disposable;
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
    const hold = range.region.hold();
    const entry: Entry = { range, done: new Deferred<void>(), started: false, hold };
    this.#waiting.push(entry);
    this.#fill();
    return signal ? this.#abortable(entry, signal) : entry.done.promise;
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
    for (const entry of [...this.#started.splice(0), ...this.#waiting.splice(0)]) {
      entry.hold[Symbol.dispose]();
      entry.done.reject(error);
    }
  }

  /** Calls back once the queue is empty. */
  whenIdle(listener: () => void): void {
    this.#onIdle = listener;
    this.#checkIdle();
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
    if (at !== -1) this.#waiting.splice(at, 1);
    entry.hold[Symbol.dispose]();
    this.#checkIdle();
  }

  #fill(): void {
    while (this.#started.length < SENDS_IN_WORKER && this.#waiting.length > 0) {
      const entry = this.#waiting.shift()!;
      entry.started = true;
      this.#started.push(entry);
      this.post(this.#nextNumber, entry.range);
      this.#nextNumber = (this.#nextNumber + 1) >>> 0;
    }
  }

  #checkIdle(): void {
    if (this.idle) this.#onIdle?.();
  }
}
