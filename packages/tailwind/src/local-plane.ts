import { type CompletionHandler, type DataPlane, type ProtocolContext, ProtocolError } from '@rdmc/dataplane';
import { CompletionWord, Layout } from '@rdmc/verbs';
import { LOCAL_PLANE_TURN_MS } from './constants.js';
import { TailwindError } from './errors.js';
import { PROTOCOL_NAME } from './records.js';
import { TailwindProtocol } from './worker/tailwind-protocol.js';

const COMPLETION_QUEUE_DEPTH = 4096;

/** What a `WorkerLink` needs of a data plane. */
export type LinkPlane = Pick<DataPlane, 'command' | 'post' | 'onEvent'>;

interface Waiting {
  resolve(payload: Uint8Array): void;
  reject(error: Error): void;
}

/**
 * The worker's part of this package in the application's thread, on the data plane's device, with a completion queue of
 * its own: an append goes out without waking another thread, and where the device completes writes at once (over shared
 * memory the doorbell copies) its acknowledgement is there in the same turn of the event loop. What is not complete then
 * is heard of through the completion channel. Belongs to the thread that opened it.
 */
export class LocalPlane implements LinkPlane {
  readonly #handlers = new Map<number, CompletionHandler>();
  readonly #waiting = new Map<number, Waiting>();
  readonly #protocol: TailwindProtocol;
  readonly #channel;
  readonly #completions;
  readonly #submission;
  #listener: (kind: number, payload: Uint8Array) => void = () => {};
  #lastRequest = 0;
  #scheduled = false;
  /** When the event loop last got as far as this plane's first work in a turn of it; undefined before that work. */
  #turnBegan: number | undefined;
  #armed = false;
  #closed = false;

  /** @param onFailure an error that nothing answers for: nothing can be relied on any more */
  constructor(
    private readonly plane: DataPlane,
    private readonly onFailure: (error: Error) => void,
  ) {
    const { device, protectionDomain } = plane;
    this.#channel = device.createCompletionChannel();
    const depth = Math.min(COMPLETION_QUEUE_DEPTH, device.attributes.maxCompletionQueueDepth);
    this.#completions = device.createCompletionQueue({ depth, channel: this.#channel });
    this.#submission = device.createSubmissionQueue();
    this.#channel.onEvent(() => {
      this.#armed = false;
      this.#turn();
    });
    this.#channel.ref(false);
    plane.onDeath((error) => this.#end(error));
    this.#protocol = new TailwindProtocol({
      name: PROTOCOL_NAME,
      data: undefined,
      device,
      protectionDomain,
      completionQueue: this.#completions,
      submission: this.#submission,
      ...this.#callbacks(),
    });
  }

  command(_protocol: string, kind: number, payload: Uint8Array = new Uint8Array()): Promise<Uint8Array> {
    if (this.#isGone) return Promise.reject(gone());
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    return new Promise((resolve, reject) => {
      this.#waiting.set(request, { resolve, reject });
      this.#protocol.onCommand(kind, request, payload);
      this.#schedule();
    });
  }

  /** What is posted until the microtasks run goes out with one doorbell. */
  post(_protocol: string, kind: number, payload: Uint8Array = new Uint8Array()): boolean {
    if (this.#isGone) throw gone();
    this.#protocol.onCommand(kind, 0, payload);
    this.#schedule();
    return true;
  }

  onEvent(_protocol: string, listener: (kind: number, payload: Uint8Array) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = () => {};
    };
  }

  /** Resolves when the device has let go of all memory. */
  async close(): Promise<void> {
    if (this.#isGone) return;
    await this.#protocol.stop();
    this.#end(gone());
    await this.#completions.close();
    await this.#channel.close();
  }

  /** With the data plane its device went, and every queue pair on it. */
  get #isGone(): boolean {
    return this.#closed || this.plane.closed;
  }

  #end(error: Error): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #callbacks(): Pick<ProtocolContext, 'attach' | 'detach' | 'reply' | 'fail' | 'emit' | 'counter' | 'wake'> {
    return {
      attach: (queuePair, handler) => void this.#handlers.set(queuePair, handler),
      detach: (queuePair) => void this.#handlers.delete(queuePair),
      reply: (request, payload) => this.#answered(request)?.resolve(payload ?? new Uint8Array()),
      fail: (request, code, message) => this.#answered(request)?.reject(new ProtocolError(code, message)),
      emit: (kind, payload) => this.#listener(kind, payload ?? new Uint8Array()),
      counter: () => ({ add() {} }),
      wake: () => this.#schedule(),
    };
  }

  #answered(request: number): Waiting | undefined {
    const waiting = this.#waiting.get(request);
    this.#waiting.delete(request);
    return waiting;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#mayGoOn()) queueMicrotask(this.#run);
    else setImmediate(this.#run);
  }

  readonly #run = (): void => {
    this.#scheduled = false;
    this.#turn();
  };

  /**
   * Whoever appends again when an append is acknowledged is acknowledged again in the same turn of the event loop, and so
   * on: timers, and with them leases, and what comes from other members would wait until the segment is full.
   */
  #mayGoOn(): boolean {
    const now = performance.now();
    if (this.#turnBegan === undefined) {
      this.#turnBegan = now;
      setImmediate(() => {
        this.#turnBegan = undefined;
      });
    }
    return now - this.#turnBegan < LOCAL_PLANE_TURN_MS;
  }

  #turn(): void {
    if (this.#isGone) return;
    try {
      while (this.#step()) {}
      if (this.#armed || this.#protocol.isIdle) return;
      // What came before the arming makes no event.
      this.#armed = true;
      this.#completions.arm();
      while (this.#step()) {}
    } catch (error) {
      this.onFailure(error as Error);
    }
  }

  /** Whether there was anything to do. */
  #step(): boolean {
    const posted = this.#submission.pending > 0;
    if (posted) this.#submission.flush();
    const count = this.#completions.pollBatch();
    const { words } = this.#completions;
    for (let i = 0, base = 0; i < count; i += 1, base += Layout.COMPLETION_WORDS) {
      this.#handlers.get(words[base + CompletionWord.QUEUE_PAIR]!)?.onCompletion(words, base);
    }
    this.#protocol.onTurn();
    return posted || count > 0;
  }
}

function gone(): TailwindError {
  return new TailwindError('ERR_RDMC_LOG_CLOSED', 'The data plane of this log is closed');
}
