import { Deferred, Fifo, PendingCalls } from '@rdmc/common';
import { ControlWord } from './control.js';
import type { RingWriter } from './ring.js';
import { type EventFdSignal, signalSleeper } from './wake.js';

interface Waiting {
  readonly tag: number;
  readonly request: number;
  readonly payload: Uint8Array | undefined;
}

/**
 * The protocol of a call, and the decoder of its answer. It reads the payload at once, because the ring reuses that
 * memory.
 */
interface Addressee {
  readonly protocol: number;
  readonly decode: (payload: Uint8Array) => unknown;
}

const NOTHING = new Uint8Array(0);

/**
 * The application's end of the command ring, and a queue, in order of arrival, of the records that found the
 * ring full. Knows which commands have not been answered.
 */
export class CommandQueue {
  readonly #waiting = new Fifo<Waiting>();
  readonly #outstanding = new PendingCalls<unknown, Addressee>();
  #drained: Deferred<void>[] = [];

  constructor(
    private readonly writer: RingWriter,
    private readonly words: Int32Array,
    private readonly signalWorker: EventFdSignal,
    /** Called when the answer to `busy` may have changed. */
    private readonly onChange: () => void,
  ) {}

  /** Whether an answer or room in the ring is awaited. */
  get busy(): boolean {
    return this.#outstanding.size > 0 || this.#waiting.length > 0;
  }

  /**
   * Writes or queues a record; false if it was queued. The payload is copied. Throws if it is too long for the ring.
   */
  post(tag: number, payload: Uint8Array | undefined): boolean {
    return this.#send(tag, 0, payload);
  }

  /** Like `post`, for a record with an answer. Rejects with the error that `encode` throws. */
  command<Answer>(
    tag: number,
    encode: () => Uint8Array | undefined,
    decode: (payload: Uint8Array) => Answer,
  ): Promise<Answer> {
    const answered = this.#outstanding.start({ protocol: tag >>> 16, decode }, (request) => {
      this.#send(tag, request, encode());
    });
    this.onChange();
    return answered as Promise<Answer>;
  }

  /** Resolves when the queue is empty. */
  drained(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    const drained = new Deferred<void>();
    this.#drained.push(drained);
    return drained.promise;
  }

  /** Moves queued records into the ring as far as they fit. Called when the worker has drained the ring. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    if (!this.#moveWaiting()) {
      // Ask for room first, then try again: room that was made before the request is not announced.
      Atomics.store(this.words, ControlWord.COMMAND_ROOM_WANTED, 1);
      this.#moveWaiting();
    }
    signalSleeper(this.words, ControlWord.WORKER_SLEEPING, this.signalWorker);
    if (this.#waiting.length > 0) return;
    const drained = this.#drained;
    this.#drained = [];
    for (const { resolve } of drained) resolve();
    this.onChange();
  }

  /** The worker answered. */
  answer(request: number, payload: Uint8Array = NOTHING): void {
    const command = this.#outstanding.party(request);
    if (!command) return;
    try {
      this.#outstanding.resolve(request, command.decode(payload));
    } catch (error) {
      this.#outstanding.reject(request, error);
    }
    this.onChange();
  }

  fail(request: number, error: Error): void {
    this.#outstanding.reject(request, error);
    this.onChange();
  }

  /** Rejects the calls to this protocol, which has ended. */
  rejectProtocol(protocol: number, error: Error): void {
    this.#outstanding.rejectAll(error, (command) => command.protocol === protocol);
    this.onChange();
  }

  /** Rejects all calls, because the worker has ended. */
  rejectAll(error: () => Error): void {
    this.#waiting.clear();
    this.#outstanding.rejectAll(error());
    for (const { reject } of this.#drained.splice(0)) reject(error());
    this.onChange();
  }

  #send(tag: number, request: number, payload: Uint8Array | undefined): boolean {
    if (this.#waiting.length === 0 && this.writer.tryWrite(tag, request, payload)) {
      signalSleeper(this.words, ControlWord.WORKER_SLEEPING, this.signalWorker);
      return true;
    }
    if (payload) this.writer.check(payload);
    this.#waiting.push({ tag, request, payload: payload?.slice() });
    this.flush();
    this.onChange();
    return this.#waiting.length === 0;
  }

  #moveWaiting(): boolean {
    for (let next = this.#waiting.peek(); next; next = this.#waiting.peek()) {
      const givenUp = next.request !== 0 && !this.#outstanding.has(next.request);
      if (!givenUp && !this.writer.tryWrite(next.tag, next.request, next.payload)) return false;
      this.#waiting.shift();
    }
    return true;
  }
}
