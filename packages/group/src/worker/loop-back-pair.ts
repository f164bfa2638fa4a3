import type { ProtocolContext } from '@rdmc/dataplane';
import {
  type CompletionFailure,
  CompletionWord,
  completionFailure,
  type LocalKey,
  Opcode,
  type QueuePair,
  Status,
  WorkRequestFlag,
} from '@rdmc/verbs';
import type { WriteTarget } from './port.js';

/** WRITEs that are under way, at most. */
const DEPTH = 16;
const RECEIVE = { id: 0 };

/** A WRITE of this node's device into memory of this node. */
export interface LoopBackWrite {
  readonly to: WriteTarget;
  readonly fromAddress: number;
  readonly fromKey: LocalKey;
  readonly byteLength: number;
  /** Called once, when the bytes are in place, or will not be; the device does not use the memory any more. */
  readonly done: (failure?: CompletionFailure) => void;
}

/** A WRITE that a pair has not executed, or of which that is not known. */
export interface Unexecuted {
  readonly write: LoopBackWrite;
  readonly failure: CompletionFailure;
}

const NOT_ARRIVED: CompletionFailure = {
  status: 'GENERAL_ERROR',
  refusal: undefined,
  reason: 'its queue pair failed before the target confirmed the bytes',
};

/** The functions of the loop-back that its pair calls. */
export interface LoopBackHost {
  /** WRITEs have completed: further ones may be posted. */
  advance(): void;
  /** The pair has failed, and the device has given back everything that was posted. These WRITEs were not executed. */
  drained(pair: LoopBackPair, left: readonly Unexecuted[]): void;
}

interface Posted {
  readonly write: LoopBackWrite;
  failure: CompletionFailure;
}

/**
 * Two queue pairs of this node that are connected to each other. A WRITE has an immediate, and counts as executed when both
 * ends have completed it: the receive says that the bytes are in the target's memory, which the completion of a send does not
 * promise; the send says that the source is not read again.
 */
export class LoopBackPair {
  readonly #out: QueuePair;
  readonly #into: QueuePair;
  #state: 'connecting' | 'open' | 'broken' = 'connecting';
  /** WRITEs that are not done, in the order in which they were posted. */
  readonly #posted: Posted[] = [];
  /** Of these: sends that have succeeded, sends that have completed, and receives that have succeeded. */
  #sent = 0;
  #completed = 0;
  #arrived = 0;
  /** Posted receives that have not completed. */
  #receives = DEPTH;

  constructor(
    private readonly context: ProtocolContext,
    private readonly host: LoopBackHost,
  ) {
    const { protectionDomain, completionQueue } = context;
    const queues = { sendQueue: completionQueue, receiveQueue: completionQueue };
    this.#out = protectionDomain.createQueuePair({ ...queues, sendDepth: DEPTH, receiveDepth: 1 });
    try {
      this.#into = protectionDomain.createQueuePair({ ...queues, sendDepth: 1, receiveDepth: DEPTH });
    } catch (error) {
      this.#out.close().catch(() => {});
      throw error;
    }
    context.attach(this.#out, { onCompletion: (words, base) => this.#onSent(words, base) });
    context.attach(this.#into, { onCompletion: (words, base) => this.#onArrived(words, base) });
    try {
      for (let i = 0; i < DEPTH; i += 1) this.#into.postReceive(RECEIVE);
    } catch (error) {
      // Nobody else knows of the queue pairs.
      this.close().catch(() => {});
      throw error;
    }
  }

  /** @throws VerbsError as `QueuePair.connect` */
  async connect(): Promise<void> {
    await Promise.all([this.#out.connect(this.#into.address), this.#into.connect(this.#out.address)]);
    if (this.#state === 'connecting') this.#state = 'open';
  }

  /** Whether a WRITE may be posted. */
  get mayPost(): boolean {
    return this.#state === 'open' && this.#posted.length < DEPTH;
  }

  get isIdle(): boolean {
    return this.#posted.length === 0;
  }

  post(write: LoopBackWrite): void {
    const { submission } = this.context;
    submission.begin(Opcode.WRITE_WITH_IMM, this.#out.number, 0, WorkRequestFlag.SIGNALED);
    submission.sge(write.fromAddress, write.byteLength, write.fromKey);
    submission.remote(write.to.address, write.to.rkey);
    submission.immediate(0);
    this.#posted.push({ write, failure: NOT_ARRIVED });
  }

  /** The pair is not used any more. Nothing is posted that a `LoopBackWrite` waits for. */
  async close(): Promise<void> {
    this.context.detach(this.#out);
    this.context.detach(this.#into);
    await Promise.all([this.#out.close(), this.#into.close()]);
  }

  #onSent(words: Uint32Array, base: number): void {
    const posted = this.#posted[this.#completed]!;
    this.#completed += 1;
    if (words[base + CompletionWord.STATUS] === Status.SUCCESS) {
      this.#sent += 1;
      this.#settle();
    } else {
      posted.failure = completionFailure(words, base);
      this.#break();
    }
    this.#checkDrained();
  }

  #onArrived(words: Uint32Array, base: number): void {
    this.#receives -= 1;
    if (words[base + CompletionWord.STATUS] === Status.SUCCESS) {
      this.#arrived += 1;
      if (this.#state !== 'broken') this.#receive();
      this.#settle();
    } else this.#break();
    this.#checkDrained();
  }

  #receive(): void {
    this.context.submission.begin(Opcode.RECEIVE, this.#into.number, 0, WorkRequestFlag.SIGNALED);
    this.#receives += 1;
  }

  #settle(): void {
    while (this.#sent > 0 && this.#arrived > 0) {
      this.#sent -= 1;
      this.#completed -= 1;
      this.#arrived -= 1;
      this.#posted.shift()!.write.done();
    }
    if (this.#state === 'open') this.host.advance();
  }

  #break(): void {
    if (this.#state === 'broken') return;
    this.#state = 'broken';
    this.#out.modifyToError();
    this.#into.modifyToError();
    // Requests that were written in this turn are flushed as well.
    this.context.wake();
  }

  #checkDrained(): void {
    if (this.#state !== 'broken' || this.#receives > 0 || this.#completed < this.#posted.length) return;
    this.host.drained(this, this.#posted.splice(0));
  }
}
