import { completionOpcodeName, statusName } from './completion-names.js';
import { CompletionFlag, CompletionWord, Layout } from './constants.js';
import type { OpenDevice, WorkCompletion } from './contract.js';
import { VerbsError } from './errors.js';
import { type CompletionQueueFunctions, closeUnlessGone, native } from './native.js';
import { integerOption } from './options.js';

const TWO_32 = 4_294_967_296;
/** As the C library takes them. */
const MOST_TIMEOUT_MS = 0x7fff_ffff;

/**
 * Queue of completions of queue pairs. Belongs to one thread.
 *
 * Fast path: `n = cq.pollBatch()`, then read `cq.words` at `i * Layout.COMPLETION_WORDS + CompletionWord.X`.
 * Convenient: `cq.poll()`.
 */
export class CompletionQueue {
  /** The batch filled by the last poll, on a SharedArrayBuffer. */
  readonly words: Uint32Array;
  /** Moves up to `Layout.POLL_SLOTS` completions into `words`; returns their number. */
  readonly pollBatch: () => number;
  readonly #functions: CompletionQueueFunctions;
  #closed = false;

  /** @internal */
  constructor(
    /** The device that it belongs to. */
    readonly device: OpenDevice,
    /** Identifies it in calls of the addon and in `QueuePairOptions`; valid in all threads. */
    readonly handle: number,
    /** Completions that fit into it. */
    readonly depth: number,
    channel: number,
  ) {
    // The addon writes to its address, and the words are public: shared memory cannot be detached, so it is not freed before the
    // addon's functions.
    const memory = new SharedArrayBuffer(Layout.COMPLETION_BYTES * Layout.POLL_SLOTS);
    const bytes = new Uint8Array(memory);
    this.words = new Uint32Array(memory);
    this.#functions = native().completionQueueFunctions(device.handle, handle, channel, bytes);
    this.pollBatch = this.#functions.poll;
  }

  /**
   * As `pollBatch`, but if there is no completion, it arms the queue and blocks the calling thread until its channel has an event
   * (ibv_get_cq_event). Returns 0 after `timeoutMs` (-1 to 2^31 − 1; default -1: no limit), after an event without a completion,
   * after a signal, and at once if the queue or its device is closed, or the device was removed; it also returns when another thread
   * closes the device.
   * `worker.terminate()` does not end it: a worker that is ended in this way needs a time limit. The event loop of the thread does
   * not run meanwhile, and the channel's listener is not called for events that are taken here: this is for a thread that waits for
   * nothing else, and it wakes faster than `CompletionChannel.onEvent`. No other queue may use the channel.
   * @throws VerbsError ERR_RDMC_INVALID_OPTION without a channel, and for another time limit
   */
  waitBatch(timeoutMs = -1): number {
    const { wait } = this.#functions;
    if (wait) return wait(integerOption('waitBatch', 'timeoutMs', timeoutMs, -1, MOST_TIMEOUT_MS));
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      'A completion queue without a channel cannot be waited for: create it with the option channel',
    );
  }

  /** Removes and returns completions, `Layout.POLL_SLOTS` at most. */
  poll(): WorkCompletion[] {
    return this.#batch(this.pollBatch());
  }

  /** As `poll`, but it blocks the calling thread until there are completions, as `waitBatch` does. @throws as `waitBatch` */
  wait(timeoutMs?: number): WorkCompletion[] {
    return this.#batch(this.waitBatch(timeoutMs));
  }

  /**
   * Requests one event on the channel for the next completion. Poll once more after arming: a completion that arrived
   * before arming does not raise an event (the ibv_req_notify_cq rule).
   */
  arm(options: { solicitedOnly?: boolean } = {}): void {
    const solicitedOnly = options.solicitedOnly ?? false;
    if (!this.#functions.arm(solicitedOnly))
      native().completionQueueArm(this.device.handle, this.handle, solicitedOnly);
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

  #batch(count: number): WorkCompletion[] {
    const completions: WorkCompletion[] = [];
    for (let i = 0; i < count; i += 1) completions.push(this.#at(i * Layout.COMPLETION_WORDS));
    return completions;
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
