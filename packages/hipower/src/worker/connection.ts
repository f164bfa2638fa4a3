import type { CompletionHandler, ProtocolContext } from '@rdmc/dataplane';
import {
  CompletionWord,
  completionFailure,
  Opcode,
  type QueuePair,
  type QueuePairAddress,
  Status,
} from '@rdmc/verbs';
import type { HiPowerRecords } from '../records.js';

/** The kind of a request, in the low bits of its id; above them a count. Ids stay small integers, which V8 does not box. */
export const Purpose = { WRITE: 0, PUSH: 1, READ: 2, RECEIVE: 3, CONFIRM: 4, END: 5 } as const;
const PURPOSE_BITS = 3;
const COUNT_MASK = 0x0fff_ffff;
const RECEIVE = { id: Purpose.RECEIVE };

/** Receives the completions of a connection. */
export interface ConnectionListener {
  completed(purpose: number, count: number, immediate: number): void;
  failed(reason: string): void;
}

/** The queue pair shared with one peer, for one generation. */
export class Connection implements CompletionHandler {
  readonly #queuePair: QueuePair;
  #closed = false;

  constructor(
    private readonly context: ProtocolContext<HiPowerRecords>,
    private readonly listener: ConnectionListener,
    sendDepth: number,
    receiveDepth: number,
  ) {
    const { protectionDomain, completionQueue } = context;
    this.#queuePair = protectionDomain.createQueuePair({
      sendQueue: completionQueue,
      receiveQueue: completionQueue,
      sendDepth,
      receiveDepth,
    });
    context.attach(this.#queuePair, this);
  }

  get address(): QueuePairAddress {
    return this.#queuePair.address;
  }

  /**
   * Posts the first receives at once: the peer may use them before the turn ends in which its address comes.
   * @throws PostError if the device refuses them
   */
  prepare(receives: number): void {
    for (let i = 0; i < receives; i += 1) this.#queuePair.postReceive(RECEIVE);
  }

  /** Receives are posted before they can be used up, so a receiver that is not ready violates the protocol. */
  async connect(address: QueuePairAddress, retryTimeoutMs: number): Promise<string> {
    await this.#queuePair.connect(address, { rnrRetries: 0, retryTimeoutMs });
    return this.#queuePair.transport;
  }

  /** Begins a request; the caller adds memory and target to `context.submission`. */
  begin(opcode: number, purpose: number, count: number, flags: number): void {
    const id = ((count & COUNT_MASK) << PURPOSE_BITS) | purpose;
    this.context.submission.begin(opcode, this.#queuePair.number, id, flags);
  }

  postReceive(): void {
    this.begin(Opcode.RECEIVE, Purpose.RECEIVE, 0, 0);
  }

  onCompletion(words: Uint32Array, base: number): void {
    const status = words[base + CompletionWord.STATUS]!;
    if (status !== Status.SUCCESS) {
      this.listener.failed(completionFailure(words, base).reason);
      return;
    }
    const id = words[base + CompletionWord.ID_LOW]!;
    this.listener.completed(
      id & ((1 << PURPOSE_BITS) - 1),
      id >>> PURPOSE_BITS,
      words[base + CompletionWord.IMMEDIATE]! | 0,
    );
  }

  /** A barrier: after it returns, the peer neither reads nor writes any byte, and no request completes any longer. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.context.detach(this.#queuePair);
    void this.#queuePair.close();
  }
}

/** The full count of a truncated count in an id, given a lower bound. */
export function fullCount(low: number, notBefore: number): number {
  return (notBefore + ((low - notBefore) & COUNT_MASK)) | 0;
}
