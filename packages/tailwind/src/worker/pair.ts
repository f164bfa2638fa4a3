import type { ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  PostError,
  type QueuePair,
  type QueuePairAddress,
  Status,
  statusName,
} from '@rdmc/verbs';
import { MAX_OUTSTANDING } from '../constants.js';
import { BatchLedger } from './batch-ledger.js';

const ledgers = new WeakMap<ProtocolContext['submission'], BatchLedger>();

/**
 * A queue pair with one member. What kinds of requests travel on it is for the subclasses; this is what all have
 * in common: connecting, breaking, and waiting until the device has let go of all memory.
 */
export abstract class Pair {
  protected readonly queuePair: QueuePair;
  readonly #ledger: BatchLedger;
  #posted = 0;
  #broken: string | undefined;
  #onDrained: (() => void) | undefined;
  #dropped: Promise<void> | undefined;

  constructor(
    protected readonly context: ProtocolContext,
    readonly number: number,
  ) {
    const { protectionDomain, completionQueue } = context;
    this.queuePair = protectionDomain.createQueuePair({
      sendQueue: completionQueue,
      receiveQueue: completionQueue,
      sendDepth: MAX_OUTSTANDING,
      receiveDepth: MAX_OUTSTANDING,
    });
    context.attach(this.queuePair.number, this);
    this.#ledger = ledgers.get(context.submission) ?? new BatchLedger();
    ledgers.set(context.submission, this.#ledger);
  }

  /** Requests are on their way. */
  get isBusy(): boolean {
    return this.#posted > 0;
  }

  get address(): QueuePairAddress {
    return this.queuePair.address;
  }

  /** Why nothing can be sent any more; undefined while all is well. */
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
    const status = words[base + CompletionWord.STATUS]!;
    if (status === Status.SUCCESS) this.succeeded(words, base);
    else this.break(`its queue pair failed with ${statusName(status)}`);
    if (this.#posted === 0) this.#onDrained?.();
  }

  /** Gives up everything on this pair. A barrier on the device: nothing of it is read or written afterwards. */
  break(reason: string): void {
    if (this.#broken !== undefined) return;
    this.#broken = reason;
    this.flush();
    this.queuePair.modifyToError();
    this.failed(reason);
  }

  /** Breaks, and resolves when the device has let go of all memory. */
  drop(): Promise<void> {
    this.#dropped ??= this.#drop();
    return this.#dropped;
  }

  /** A request was written to the submission queue. */
  protected posted(): void {
    this.#posted += 1;
    this.#ledger.note(this.context.submission.pending - 1, this);
  }

  /** Posts what was written. A refusal breaks the pair whose request it was; those of others in the batch went out. */
  protected flush(): void {
    try {
      this.context.submission.flush();
    } catch (error) {
      if (!(error instanceof PostError)) throw error;
      const refused = this.#ledger.refused(error.index);
      if (!refused) throw error;
      refused.pair.refused(refused.requests, error.message);
    }
  }

  /** The device took so many requests of this pair not: no completions will come for them. */
  refused(requests: number, reason: string): void {
    this.#posted -= requests;
    this.break(`the device refused a request: ${reason}`);
    if (this.#posted === 0) this.#onDrained?.();
  }

  protected abstract succeeded(words: Uint32Array, base: number): void;

  /** Everything outstanding has failed. */
  protected abstract failed(reason: string): void;

  /** Memory of the pair's own can go. */
  protected async release(): Promise<void> {}

  async #drop(): Promise<void> {
    this.break('this member ended the connection');
    if (this.#posted > 0) {
      await new Promise<void>((resolve) => {
        this.#onDrained = resolve;
      });
    }
    this.context.detach(this.queuePair.number);
    await this.queuePair.close();
    await this.release();
  }
}
