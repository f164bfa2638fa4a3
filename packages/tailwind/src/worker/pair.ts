import type { ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  completionFailure,
  type QueuePair,
  type QueuePairAddress,
  Status,
} from '@rdmc/verbs';
import { MAX_OUTSTANDING } from '../constants.js';
import type { TailwindRecords } from '../records.js';

/**
 * A queue pair with one member. Subclasses define the requests on it; this class has the common part: connecting,
 * breaking, and waiting until the device does not use any of its memory any more.
 */
export abstract class Pair {
  protected readonly queuePair: QueuePair;
  #posted = 0;
  #broken: string | undefined;
  #onDrained: (() => void) | undefined;
  #dropped: Promise<void> | undefined;

  constructor(
    protected readonly context: ProtocolContext<TailwindRecords>,
    readonly number: number,
  ) {
    const { protectionDomain, completionQueue } = context;
    this.queuePair = protectionDomain.createQueuePair({
      sendQueue: completionQueue,
      receiveQueue: completionQueue,
      sendDepth: MAX_OUTSTANDING,
      receiveDepth: MAX_OUTSTANDING,
    });
    context.attach(this.queuePair, this);
  }

  /** Whether requests are outstanding. */
  get isBusy(): boolean {
    return this.#posted > 0;
  }

  get address(): QueuePairAddress {
    return this.queuePair.address;
  }

  /** Why requests cannot be sent any more; undefined while the pair works. */
  get broken(): string | undefined {
    return this.#broken;
  }

  /** Resolves with the transport. */
  async connect(address: QueuePairAddress, retryTimeoutMs: number): Promise<string> {
    await this.queuePair.connect(address, { retryTimeoutMs });
    return this.queuePair.transport;
  }

  onCompletion(words: Uint32Array, base: number): void {
    this.#posted -= 1;
    if (words[base + CompletionWord.STATUS] === Status.SUCCESS) this.succeeded(words, base);
    else this.break(completionFailure(words, base).reason);
    if (this.#posted === 0) this.#onDrained?.();
  }

  /**
   * Fails everything on this pair. A barrier on the device: nothing of it is read or written afterwards. Requests that
   * this turn has written for it are posted to a queue pair in the error state, and are flushed.
   */
  break(reason: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = reason;
    this.queuePair.modifyToError();
    this.failed(reason);
  }

  /** Breaks the pair, and resolves when the device does not use any of its memory any more. */
  drop(): Promise<void> {
    this.#dropped ??= this.#drop();
    return this.#dropped;
  }

  /** A request was written to the submission queue. */
  protected posted(): void {
    this.#posted += 1;
  }

  protected abstract succeeded(words: Uint32Array, base: number): void;

  /** All outstanding requests have failed. */
  protected abstract failed(reason: string): void;

  /** The pair's own memory can be freed. */
  protected async release(): Promise<void> {}

  async #drop(): Promise<void> {
    this.break('this member ended the connection');
    if (this.#posted > 0) {
      // The request may not be posted yet.
      this.context.wake();
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
    this.context.detach(this.queuePair);
    await this.queuePair.close();
    await this.release();
  }
}
