import { ControlWord } from './control.js';
import { Fifo } from '@rdmc/common';
import type { RingWriter } from './ring.js';
import { type EventFdSignal, signalSleeper } from './wake.js';

interface Waiting {
  readonly tag: number;
  readonly request: number;
  readonly payload: Uint8Array | undefined;
}

interface Outstanding {
  readonly protocol: number;
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (reason: unknown) => void;
}

const MAX_REQUEST_ID = 0xffff_ffff;
const NOTHING = new Uint8Array(0);

/**
 * The application's way to the worker: the command ring, and before it, in order of arrival, what found the
 * ring full. Knows which commands have not been answered.
 */
export class CommandQueue {
  readonly #waiting = new Fifo<Waiting>();
  readonly #outstanding = new Map<number, Outstanding>();
  #drained: { resolve: () => void; reject: (reason: unknown) => void }[] = [];
  #lastRequest = 0;

  constructor(
    private readonly writer: RingWriter,
    private readonly words: Int32Array,
    private readonly signalWorker: EventFdSignal,
    /** Called when the answer to `busy` may have changed. */
    private readonly onChange: () => void,
  ) {}

  /** Something is waited for. */
  get busy(): boolean {
    return this.#outstanding.size > 0 || this.#waiting.length > 0;
  }

  /** Writes a record or lets it wait; false when it waits. The payload is copied. Throws when it never fits. */
  post(tag: number, payload: Uint8Array | undefined): boolean {
    return this.#send(tag, 0, payload);
  }

  /** Like `post`, for a record that will be answered. Rejects with what `encode` throws. */
  command<Answer>(
    tag: number,
    encode: () => Uint8Array | undefined,
    decode: (payload: Uint8Array) => Answer,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = this.#nextRequest();
      const answered = (payload: Uint8Array): void => resolve(decode(payload));
      this.#outstanding.set(request, { protocol: tag >>> 16, resolve: answered, reject });
      try {
        this.#send(tag, request, encode());
        this.onChange();
      } catch (error) {
        this.#take(request)?.reject(error);
      }
    });
  }

  /** Resolves when nothing waits for room in the ring. */
  drained(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => this.#drained.push({ resolve, reject }));
  }

  /** Moves what waits into the ring as far as it fits. Called when the worker has drained. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    if (!this.#moveWaiting()) {
      // Ask for room first and try again, or room made in between is never announced.
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
    const command = this.#take(request);
    command?.resolve(payload);
  }

  fail(request: number, error: Error): void {
    const command = this.#take(request);
    command?.reject(error);
  }

  /** This protocol will answer nothing any more. */
  rejectProtocol(protocol: number, error: Error): void {
    for (const [request, command] of this.#outstanding) {
      if (command.protocol === protocol) this.#take(request)?.reject(error);
    }
  }

  /** Nobody will answer any more. */
  rejectAll(error: () => Error): void {
    this.#waiting.clear();
    const lost = [...this.#outstanding.values(), ...this.#drained];
    this.#outstanding.clear();
    this.#drained = [];
    for (const { reject } of lost) reject(error());
    this.onChange();
  }

  #take(request: number): Outstanding | undefined {
    const command = this.#outstanding.get(request);
    this.#outstanding.delete(request);
    this.onChange();
    return command;
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

  #nextRequest(): number {
    do {
      this.#lastRequest = this.#lastRequest === MAX_REQUEST_ID ? 1 : this.#lastRequest + 1;
    } while (this.#outstanding.has(this.#lastRequest));
    return this.#lastRequest;
  }
}
