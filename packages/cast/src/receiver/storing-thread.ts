import type { TransferListItem } from 'node:worker_threads';
import { WRITER_HANGS_MS } from '../constants.js';
import { CallingThread, type Calls } from '../worker-calls.js';
import { WriterSigns } from '../writer/writer-signs.js';
import { untilQuiet } from './until-quiet.js';

/** A thread that stores, at the application's end: its calls, whether it makes progress, and its end. */
export class StoringThread<C extends Calls & { close(argument: undefined): unknown }> {
  readonly #signs = new Int32Array(new SharedArrayBuffer(WriterSigns.COUNT * Int32Array.BYTES_PER_ELEMENT));
  readonly #thread: CallingThread<C>;
  /** Pending calls that count as work. */
  #queued = 0;
  #seenActivity = 0;
  #busySince = 0;

  constructor(module: URL) {
    this.#thread = new CallingThread<C>(module, { signs: this.#signs });
  }

  /** @throws CastError with the code of the error that the function threw */
  call<N extends keyof C & string>(
    name: N,
    argument: Parameters<C[N]>[0],
    transfer?: readonly TransferListItem[],
  ): Promise<Awaited<ReturnType<C[N]>>> {
    return this.#thread.call(name, argument, transfer);
  }

  /** As `call`. While it is pending, the thread must make progress: see `busyMs`. */
  async work<N extends keyof C & string>(
    name: N,
    argument: Parameters<C[N]>[0],
  ): Promise<Awaited<ReturnType<C[N]>>> {
    if (this.#queued === 0) this.#busySince = performance.now();
    this.#queued += 1;
    try {
      return await this.#thread.call(name, argument);
    } finally {
      this.#queued -= 1;
    }
  }

  /** Sets whether the thread keeps the process alive. */
  ref(wanted: boolean): void {
    this.#thread.ref(wanted);
  }

  /** How long the thread has made no progress although it has work, measured from one call of this getter to the next. */
  get busyMs(): number {
    const now = performance.now();
    const activity = this.#activity();
    if (this.#queued === 0 || activity !== this.#seenActivity) this.#busySince = now;
    this.#seenActivity = activity;
    return Math.round(now - this.#busySince);
  }

  /**
   * Removes temporary files that nobody can use later, and ends the thread. Waits as long as the thread makes progress. A
   * thread that hangs on its disk is abandoned; it does all of this when the disk answers.
   */
  async end(): Promise<void> {
    Atomics.store(this.#signs, WriterSigns.GIVEN_UP, 1);
    const closed = this.#thread.call('close', undefined).catch(() => {});
    const ended = closed.then(() => this.#thread.end());
    await untilQuiet(ended, () => this.#activity(), WRITER_HANGS_MS);
    this.#thread.ref(false);
  }

  #activity(): number {
    return Atomics.load(this.#signs, WriterSigns.ACTIVITY);
  }
}
