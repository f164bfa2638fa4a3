import { WRITER_HANGS_MS } from '../constants.js';
import type { PullWriterCalls } from '../pull-writer.js';
import { untilQuiet } from '../receiver/until-quiet.js';
import type { RunSeal } from '../seal/run-key.js';
import { CallingThread } from '../worker-calls.js';
import { WriterSigns } from '../writer/writer-signs.js';
import type { ServerFrameOf } from './frames.js';
import type {
  BeginPullOrder,
  OpenPullOrder,
  PiecesHere,
  PulledReport,
  StorePiecesOrder,
} from './writer-orders.js';

const MODULE = new URL('./pull-writer.js', import.meta.url);

/** The application's end of the thread of a fetcher that stores. */
export class PullWriterThread {
  /** Messages that were stored, in all runs, and the bytes of their pieces. */
  storedMessages = 0;
  receivedBytes = 0;
  readonly #signs = new Int32Array(new SharedArrayBuffer(WriterSigns.COUNT * Int32Array.BYTES_PER_ELEMENT));
  readonly #thread = new CallingThread<PullWriterCalls>(MODULE, { signs: this.#signs });
  #queued = 0;
  #seenActivity = 0;
  #busySince = 0;

  /** @throws CastError where the directory cannot be used */
  open(order: OpenPullOrder): Promise<void> {
    return this.#thread.call('open', order);
  }

  entries({ first, count, data }: ServerFrameOf<'entries'>): Promise<void> {
    return this.#thread.call('entries', { first, count, data });
  }

  hashes({ first, data }: ServerFrameOf<'hashes'>): Promise<void> {
    return this.#thread.call('hashes', { first, data });
  }

  /** Returns which pieces are here. @throws CastError */
  begin(order: BeginPullOrder): Promise<PiecesHere> {
    return this.#busy(this.#thread.call('begin', order));
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  enterRun(seal: RunSeal | undefined): Promise<void> {
    return this.#thread.call('enterRun', { seal });
  }

  /** Returns whether everything in the message was stored. @throws CastError where nothing more can be stored */
  async store(order: StorePiecesOrder): Promise<boolean> {
    const { isWhole, receivedBytes } = await this.#busy(this.#thread.call('store', order));
    this.storedMessages += 1;
    this.receivedBytes = receivedBytes;
    return isWhole;
  }

  withdraw({ entries, code, message }: ServerFrameOf<'withdrawn'>): Promise<void> {
    return this.#thread.call('withdraw', { entries, code, message });
  }

  finish(): Promise<PulledReport> {
    return this.#busy(this.#thread.call('finish', undefined));
  }

  /** How long the thread has made no progress although it has work, measured from one call of this getter to the next. */
  get busyMs(): number {
    const now = performance.now();
    const activity = this.#activity();
    if (this.#queued === 0 || activity !== this.#seenActivity) this.#busySince = now;
    this.#seenActivity = activity;
    return Math.round(now - this.#busySince);
  }

  /** Removes incomplete files, and ends the thread. A thread that hangs on its disk is abandoned. */
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
