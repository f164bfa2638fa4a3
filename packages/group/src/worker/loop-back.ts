import { Fifo } from '@rdmc/common';
import type { ProtocolContext } from '@rdmc/dataplane';
import type { CompletionFailure } from '@rdmc/verbs';
import { type LoopBackHost, LoopBackPair, type LoopBackWrite, type Unexecuted } from './loop-back-pair.js';

/**
 * Copies within this node by its device, for memory that the processor cannot access. All groups of the node share one pair
 * of queue pairs, which is connected at the first need. A pair that breaks is replaced: the WRITE that broke it fails, and those
 * that were flushed with it are posted again; only once where no WRITE is known that broke the pair.
 */
export class LoopBack implements LoopBackHost {
  readonly #waiting = new Fifo<LoopBackWrite>();
  #pair: LoopBackPair | undefined;
  /** Those that were flushed once, with a pair that no WRITE is known to have broken. */
  readonly #retried = new WeakSet<LoopBackWrite>();

  constructor(private readonly context: ProtocolContext) {}

  /** Whether completions of this node's own requests are waited for. */
  get isBusy(): boolean {
    return this.#waiting.length > 0 || this.#pair?.isIdle === false;
  }

  write(write: LoopBackWrite): void {
    this.#waiting.push(write);
    this.advance();
  }

  advance(): void {
    if (this.#waiting.length === 0) return;
    if (!this.#pair) this.#open();
    while (this.#pair?.mayPost && this.#waiting.length > 0) this.#pair.post(this.#waiting.shift()!);
  }

  drained(pair: LoopBackPair, left: readonly Unexecuted[]): void {
    this.#discard(pair);
    const hasCulprit = left.some(({ failure }) => !isFlushed(failure));
    const retries = left.filter((each) => this.#mayRetry(each, hasCulprit)).map(({ write }) => write);
    const failed = left.filter(({ write }) => !retries.includes(write));
    for (const write of retries) if (!hasCulprit) this.#retried.add(write);
    for (const write of [...retries, ...this.#waiting.drain()]) this.#waiting.push(write);
    for (const { write, failure } of failed) write.done(failure);
    this.advance();
  }

  /** No group is open any more: nothing is posted. */
  async close(): Promise<void> {
    const pair = this.#pair;
    this.#pair = undefined;
    await pair?.close();
  }

  #open(): void {
    try {
      this.#pair = new LoopBackPair(this.context, this);
      void this.#connect(this.#pair);
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #connect(pair: LoopBackPair): Promise<void> {
    try {
      await pair.connect();
    } catch (error) {
      if (this.#pair !== pair) return;
      this.#discard(pair);
      this.#refuse(error);
      return;
    }
    if (this.#pair !== pair) return;
    this.advance();
    this.context.wake();
  }

  /** @param hasCulprit a WRITE is known that broke the pair, and is not posted again: so the others are fewer each time */
  #mayRetry({ write, failure }: Unexecuted, hasCulprit: boolean): boolean {
    return isFlushed(failure) && (hasCulprit || !this.#retried.has(write));
  }

  /** There is no pair: everything that waits fails. */
  #refuse(error: unknown): void {
    const reason = `the device does not connect to itself: ${(error as Error).message}`;
    for (const write of this.#waiting.drain()) {
      write.done({ status: 'GENERAL_ERROR', refusal: undefined, reason });
    }
  }

  #discard(pair: LoopBackPair): void {
    if (this.#pair === pair) this.#pair = undefined;
    pair.close().catch(() => {});
  }
}

function isFlushed({ status }: CompletionFailure): boolean {
  return status === 'WORK_REQUEST_FLUSHED';
}
