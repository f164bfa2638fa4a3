import { WRITER_HANGS_MS } from '../constants.js';
import type { RemovedKept } from '../resume/kept-data.js';
import { CallingThread } from '../worker-calls.js';
import type { SurplusReport } from '../writer/comparison.js';
import type {
  BlocksOrder,
  EnterOrder,
  ExamineOrder,
  FinishOrder,
  OpenOrder,
  PrepareOrder,
  StoreOrder,
} from '../writer/orders.js';
import type { StoredReport } from '../writer/stored-report.js';
import type { WriterCalls } from '../writer/writer-calls.js';
import { WriterSigns } from '../writer/writer-signs.js';
import { untilQuiet } from './until-quiet.js';

const MODULE = new URL('./writer.js', import.meta.url);

/** The application's end of the thread that stores. */
export class WriterThread {
  readonly #signs = new Int32Array(new SharedArrayBuffer(WriterSigns.COUNT * Int32Array.BYTES_PER_ELEMENT));
  readonly #thread = new CallingThread<WriterCalls>(MODULE, { signs: this.#signs });
  /** Pending calls. */
  #queued = 0;
  #seenActivity = 0;
  #busySince = 0;
  #stored = { messages: 0, files: 0, bytes: 0 };

  /**
   * Removes leftovers of terminated receivers in the directory. Returns their names.
   * @throws CastError where the directory cannot be used
   */
  prepare(order: PrepareOrder): Promise<string[]> {
    return this.#thread.call('prepare', order);
  }

  /** Removes what interrupted casts have left there. @throws CastError where the directory cannot be used */
  removeKept(directory: string): Promise<RemovedKept> {
    return this.#thread.call('removeKept', { directory });
  }

  /** Sets whether the thread keeps the process alive. An idle thread does not. */
  ref(wanted: boolean): void {
    this.#thread.ref(wanted);
  }

  open(order: OpenOrder): Promise<{ readonly freeBytes: number }> {
    return this.#thread.call('open', order, order.sinks ? [order.sinks] : []);
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  /** Compares a piece of the manifest. Returns the packed states of its entries. @throws CastError */
  examine(order: ExamineOrder): Promise<string> {
    return this.#busy(this.#thread.call('examine', order));
  }

  surplus(): Promise<SurplusReport & { readonly resumedBytes: number }> {
    return this.#busy(this.#thread.call('surplus', undefined));
  }

  /** Begins a run: messages that are stored from now on are from another group. */
  enterRun(order: EnterOrder): Promise<void> {
    return this.#thread.call('enterRun', order);
  }

  /** Compares blocks of an older file. Returns which of them it has. @throws CastError */
  compareBlocks(order: BlocksOrder): Promise<string> {
    return this.#busy(this.#thread.call('compareBlocks', order));
  }

  /** Entries that could not be built from older files, when all messages are stored. */
  unbuilt(): Promise<number[]> {
    return this.#busy(this.#thread.call('unbuilt', undefined));
  }

  /** Messages are stored one after the other. @throws CastError where nothing more can be stored */
  async store(order: StoreOrder): Promise<void> {
    const stored = await this.#busy(this.#thread.call('store', order));
    this.#stored = { messages: this.#stored.messages + 1, ...stored };
  }

  finish(order: FinishOrder): Promise<StoredReport> {
    return this.#busy(this.#thread.call('finish', order));
  }

  /** Of all streams. */
  get storedMessages(): number {
    return this.#stored.messages;
  }

  /** Bytes of the files that are complete. */
  get storedBytes(): number {
    return this.#stored.bytes;
  }

  get storedFiles(): number {
    return this.#stored.files;
  }

  /**
   * How long the writer has made no progress although it has work, measured from one call of this getter to the next.
   */
  get busyMs(): number {
    const now = performance.now();
    const activity = this.#activity();
    if (this.#queued === 0 || activity !== this.#seenActivity) this.#busySince = now;
    this.#seenActivity = activity;
    return Math.round(now - this.#busySince);
  }

  /**
   * Removes temporary files that no later cast can use, and ends the thread. Waits as long as the thread makes progress. A thread that hangs on its disk is abandoned; it does all of this when the disk answers.
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

  async #busy<T>(call: Promise<T>): Promise<T> {
    if (this.#queued === 0) this.#busySince = performance.now();
    this.#queued += 1;
    try {
      return await call;
    } finally {
      this.#queued -= 1;
    }
  }
}
