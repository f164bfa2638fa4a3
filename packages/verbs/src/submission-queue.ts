import { Layout, Opcode, PostResult, Word, WorkRequestFlag } from './constants.js';
import type { LocalKey, OpenDevice, RemoteKey } from './contract.js';
import { PostError, VerbsError } from './errors.js';
import { native } from './native.js';
import { postError } from './post-result.js';
import { refusedCompletion } from './refused-completion.js';

const TWO_32 = 4_294_967_296;
/** Result of the doorbell of a closed device. */
const DEVICE_CLOSED = TWO_32 - 1;

/** The options of `device.createSubmissionQueue`. */
export interface SubmissionQueueOptions {
  /**
   * Called with each refused request as an error completion (`completionFailure` reads it), during `flush` or during a `begin`
   * that found the batch full. It may keep the words, and must not begin or flush requests. Without it, `flush` throws.
   */
  readonly onRefused?: (completion: Uint32Array) => void;
}

/**
 * Both counts are powers of two. A masked number cannot overflow when an offset is added, so
 * V8 omits the check, one per written word, which was half of a request's cost.
 */
const SLOT_MASK = Layout.BATCH_SLOTS - 1;
const BASE_MASK = SLOT_MASK * Layout.WORK_REQUEST_WORDS;
const SGE_MASK = 2 * Layout.MAX_SGE - 1;
const SGE_WORDS = 4;
const WAIT_WORDS = 4;

/**
 * The fast path: work requests are written into a batch in shared memory and posted with one call
 * without arguments. Nothing is allocated per request. Belongs to one thread.
 *
 * `begin` … `sge`/`remote`/`immediate` …, then the next `begin`; `flush` posts what was begun.
 * A full batch flushes itself.
 */
export class SubmissionQueue {
  readonly #words: Uint32Array;
  readonly #bytes: Uint8Array;
  readonly #control = new Uint32Array(4);
  readonly #doorbell: () => number;
  #count = 0;
  /** Word of the request that was begun last, and the number of its entries. */
  #base = 0;
  #sges = 0;

  /** @internal */
  constructor(
    device: OpenDevice,
    private readonly options: SubmissionQueueOptions = {},
  ) {
    const memory = new ArrayBuffer(Layout.WORK_REQUEST_BYTES * Layout.BATCH_SLOTS);
    this.#bytes = new Uint8Array(memory);
    this.#words = new Uint32Array(memory);
    this.#doorbell = native().submissionDoorbell(device.handle, this.#bytes, this.#control);
  }

  /** Requests begun and not yet flushed. */
  get pending(): number {
    return this.#count;
  }

  /** Drops the request that was begun last; it is not posted. */
  cancel(): void {
    if (this.#count > 0) this.#count -= 1;
  }

  /**
   * Starts a request; `id` is a safe integer that comes back in the completion. `flags`: SIGNALED, FENCE, SOLICITED. What is not
   * added is 0, also the key of the target, immediate and operands: nothing of the slot's earlier request is used.
   */
  begin(opcode: number, queuePair: number, id: number, flags: number): void {
    if (this.#count === Layout.BATCH_SLOTS) this.flush();
    const base = (this.#count & SLOT_MASK) * Layout.WORK_REQUEST_WORDS;
    const words = this.#words;
    words[base + Word.OPCODE] = opcode;
    words[base + Word.QUEUE_PAIR] = queuePair;
    words[base + Word.FLAGS] = flags;
    words[base + Word.SGE_COUNT] = 0;
    words[base + Word.ID_LOW] = id;
    // A short id does not need the division.
    words[base + Word.ID_HIGH] = id < TWO_32 ? 0 : id / TWO_32;
    words[base + Word.IMMEDIATE] = 0;
    words[base + Word.RKEY] = 0;
    words[base + Word.WAIT_COUNT] = 0;
    if (opcode === Opcode.COMPARE_AND_SWAP || opcode === Opcode.FETCH_AND_ADD) this.#clearOperands(base);
    this.#base = base;
    this.#sges = 0;
    this.#count += 1;
  }

  /** Adds memory to the request that was begun last. */
  sge(address: number, byteLength: number, lkey: LocalKey): void {
    const words = this.#words;
    const base = this.#base & BASE_MASK;
    const index = this.#sges & SGE_MASK;
    if (index >= Layout.MAX_SGE) {
      throw new VerbsError('ERR_RDMC_TOO_MANY_SGES', `A work request has at most ${Layout.MAX_SGE} entries`);
    }
    if (byteLength > 0xffff_ffff) {
      throw new VerbsError(
        'ERR_RDMC_MESSAGE_TOO_LONG',
        `An entry holds at most 2^32 - 1 bytes, not ${byteLength}`,
      );
    }
    const at = base + Word.SGE + index * SGE_WORDS;
    words[at] = address;
    words[at + 1] = address / TWO_32;
    words[at + 2] = byteLength;
    words[at + 3] = lkey;
    words[base + Word.SGE_COUNT] = index + 1;
    this.#sges = index + 1;
  }

  /** Copies the bytes into the request that was begun last, instead of `sge`s. */
  inline(bytes: Uint8Array): void {
    if (bytes.byteLength > Layout.MAX_INLINE_BYTES) {
      throw new VerbsError(
        'ERR_RDMC_INLINE_TOO_LONG',
        `At most ${Layout.MAX_INLINE_BYTES} bytes can be inline, not ${bytes.byteLength}`,
      );
    }
    if (bytes.byteLength > Layout.MAX_INLINE_BYTES_OF_WAITING && this.#has(WorkRequestFlag.WAIT_FOR)) {
      throw inlineTooLongToWait(bytes.byteLength);
    }
    this.#bytes.set(bytes, (this.#base + Word.SGE) * 4);
    this.#words[this.#base + Word.SGE_COUNT] = bytes.byteLength;
    this.#sges = Layout.MAX_SGE;
    this.#words[this.#base + Word.FLAGS]! |= WorkRequestFlag.INLINE;
  }

  /** Sets the target of the WRITE, READ or atomic that was begun last. */
  remote(address: number, rkey: RemoteKey): void {
    const words = this.#words;
    const base = this.#base & BASE_MASK;
    words[base + Word.REMOTE_LOW] = address;
    words[base + Word.REMOTE_HIGH] = address / TWO_32;
    words[base + Word.RKEY] = rkey;
  }

  /** Sets the immediate of the request that was begun last: 32 bits. */
  immediate(value: number): void {
    this.#words[this.#base + Word.IMMEDIATE] = value;
  }

  /**
   * Adds a condition to the request that was begun last: it is executed when `receives` receives of the queue pair with this
   * number have succeeded. See `SendWorkRequest.waitFor`; a device without `attributes.waitFor` refuses the request.
   * @throws VerbsError ERR_RDMC_TOO_MANY_WAITS, ERR_RDMC_INLINE_TOO_LONG
   */
  waitFor(queuePair: number, receives: number): void {
    const words = this.#words;
    const base = this.#base & BASE_MASK;
    const count = words[base + Word.WAIT_COUNT]!;
    if (count >= Layout.MAX_WAITS) {
      throw new VerbsError(
        'ERR_RDMC_TOO_MANY_WAITS',
        `A work request waits for at most ${Layout.MAX_WAITS} conditions`,
      );
    }
    const inlineBytes = this.#has(WorkRequestFlag.INLINE) ? words[base + Word.SGE_COUNT]! : 0;
    if (inlineBytes > Layout.MAX_INLINE_BYTES_OF_WAITING) throw inlineTooLongToWait(inlineBytes);
    const at = base + Word.WAITS + count * WAIT_WORDS;
    words[at] = queuePair;
    words[at + 1] = 0;
    words[at + 2] = receives;
    words[at + 3] = receives / TWO_32;
    words[base + Word.WAIT_COUNT] = count + 1;
    words[base + Word.FLAGS]! |= WorkRequestFlag.WAIT_FOR;
  }

  /** Operands of an atomic, each as two 32-bit halves. */
  atomic(compareLow: number, compareHigh: number, swapLow: number, swapHigh: number): void {
    const words = this.#words;
    words[this.#base + Word.COMPARE_LOW] = compareLow;
    words[this.#base + Word.COMPARE_HIGH] = compareHigh;
    words[this.#base + Word.SWAP_LOW] = swapLow;
    words[this.#base + Word.SWAP_HIGH] = swapHigh;
  }

  /**
   * Posts the begun requests. If a send is refused, the later sends of its queue pair in the batch are refused with it; all
   * others are posted.
   * @throws PostError for the first refused request, if the queue was created without `onRefused`
   */
  flush(): void {
    const count = this.#count;
    if (count === 0) return;
    this.#count = 0;
    this.#control[0] = count;
    const refused = this.#doorbell();
    if (refused === 0) return;
    if (refused === DEVICE_CLOSED) throw new VerbsError('ERR_RDMC_DEVICE_CLOSED', 'The device is closed');
    if (!this.options.onRefused) throw this.#refusal(count);
    this.#report(count, this.options.onRefused);
  }

  #clearOperands(base: number): void {
    const words = this.#words;
    words[base + Word.COMPARE_LOW] = 0;
    words[base + Word.COMPARE_HIGH] = 0;
    words[base + Word.SWAP_LOW] = 0;
    words[base + Word.SWAP_HIGH] = 0;
  }

  #has(flag: number): boolean {
    return (this.#words[this.#base + Word.FLAGS]! & flag) !== 0;
  }

  #report(count: number, onRefused: (completion: Uint32Array) => void): void {
    for (let i = 0; i < count; i += 1) {
      const base = i * Layout.WORK_REQUEST_WORDS;
      if (this.#words[base + Word.RESULT] === PostResult.ACCEPTED) continue;
      onRefused(refusedCompletion(this.#words, base));
    }
  }

  #refusal(count: number): PostError {
    for (let i = 0; i < count; i += 1) {
      const result = this.#words[i * Layout.WORK_REQUEST_WORDS + Word.RESULT]!;
      if (result !== PostResult.ACCEPTED) return postError(i, result);
    }
    return new PostError('ERR_RDMC_POST_FAILED', 'The device refused work requests', 0);
  }
}

function inlineTooLongToWait(byteLength: number): VerbsError {
  return new VerbsError(
    'ERR_RDMC_INLINE_TOO_LONG',
    `At most ${Layout.MAX_INLINE_BYTES_OF_WAITING} bytes of a request that waits can be inline, not ${byteLength}`,
  );
}

/** Opcodes whose completion carries data back to the initiator. */
export function isAtomic(opcode: number): boolean {
  return opcode === Opcode.COMPARE_AND_SWAP || opcode === Opcode.FETCH_AND_ADD;
}
