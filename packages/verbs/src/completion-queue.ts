import { completionOpcodeName, statusName } from './completion-names.js';
import { CompletionFlag, CompletionWord, Layout } from './constants.js';
import type { OpenDevice, WorkCompletion } from './contract.js';
import { closeUnlessGone, native } from './native.js';

const TWO_32 = 4_294_967_296;

/**
 * Queue of completions of queue pairs. Belongs to one thread.
 *
 * Fast path: `n = cq.pollBatch()`, then read `cq.words` at `i * Layout.COMPLETION_WORDS + CompletionWord.X`.
 * Convenient: `cq.poll()`.
 */
export class CompletionQueue {
  /** The batch filled by the last poll. */
  readonly words: Uint32Array;
  /** Moves up to `Layout.POLL_SLOTS` completions into `words`; returns their number. */
  readonly pollBatch: () => number;
  #closed = false;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** Identifies it in calls of the addon and in `QueuePairOptions`; valid in all threads. */
    readonly handle: number,
    /** Completions that fit into it. */
    readonly depth: number,
  ) {
    const bytes = new Uint8Array(Layout.COMPLETION_BYTES * Layout.POLL_SLOTS);
    this.words = new Uint32Array(bytes.buffer);
    this.pollBatch = native().completionQueuePoller(device.handle, handle, bytes);
  }

  /** Removes and returns completions, `Layout.POLL_SLOTS` at most. */
  poll(): WorkCompletion[] {
    const count = this.pollBatch();
    const completions: WorkCompletion[] = [];
    for (let i = 0; i < count; i += 1) completions.push(this.#at(i * Layout.COMPLETION_WORDS));
    return completions;
  }

  /**
   * Requests one event on the channel for the next completion. Poll once more after arming: a completion that arrived
   * before arming does not raise an event (the ibv_req_notify_cq rule).
   */
  arm(options: { solicitedOnly?: boolean } = {}): void {
    native().completionQueueArm(this.device.handle, this.handle, options.solicitedOnly ?? false);
  }

  /** Fails with ERR_RDMC_COMPLETION_QUEUE_BUSY while queue pairs use it; idempotent. */
  close(): Promise<void> {
    if (!this.#closed) {
      closeUnlessGone(() => native().completionQueueDestroy(this.device.handle, this.handle));
      this.#closed = true;
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #at(base: number): WorkCompletion {
    const words = this.words;
    const flags = words[base + CompletionWord.FLAGS]!;
    return {
      id: words[base + CompletionWord.ID_LOW]! + words[base + CompletionWord.ID_HIGH]! * TWO_32,
      status: statusName(words[base + CompletionWord.STATUS]!),
      opcode: completionOpcodeName(words[base + CompletionWord.OPCODE]!),
      byteLength: words[base + CompletionWord.BYTES]!,
      immediate: flags & CompletionFlag.WITH_IMMEDIATE ? words[base + CompletionWord.IMMEDIATE]! : undefined,
      queuePair: words[base + CompletionWord.QUEUE_PAIR]!,
    };
  }
}
