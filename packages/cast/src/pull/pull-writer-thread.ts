import type { PullWriterCalls } from '../pull-writer.js';
import { StoringThread } from '../receiver/storing-thread.js';
import type { RunSeal } from '../seal/run-key.js';
import type { ServerFrameOf } from './frames.js';
import type { FilledPieces, FillPiecesOrder, PullRunOrder } from './reader-orders.js';
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
  readonly #thread = new StoringThread<PullWriterCalls>(MODULE);

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
    return this.#thread.work('begin', order);
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  enterRun(seal: RunSeal | undefined): Promise<void> {
    return this.#thread.call('enterRun', { seal });
  }

  /** Returns whether everything in the message was stored. @throws CastError where nothing more can be stored */
  async store(order: StorePiecesOrder): Promise<boolean> {
    const { isWhole, receivedBytes } = await this.#thread.work('store', order);
    this.storedMessages += 1;
    this.receivedBytes = receivedBytes;
    return isWhole;
  }

  /** Bits of the pieces that are here. */
  pieces(): Promise<Uint8Array> {
    return this.#thread.call('pieces', undefined);
  }

  /** Everything is here, and this end sends pieces to others. */
  beginLead(order: PullRunOrder): Promise<void> {
    return this.#thread.call('beginLead', order);
  }

  fill(order: FillPiecesOrder): Promise<FilledPieces> {
    return this.#thread.call('fill', order);
  }

  withdraw({ entries, code, message }: ServerFrameOf<'withdrawn'>): Promise<void> {
    return this.#thread.call('withdraw', { entries, code, message });
  }

  finish(): Promise<PulledReport> {
    return this.#thread.work('finish', undefined);
  }

  /** How long the thread has made no progress although it has work, measured from one call of this getter to the next. */
  get busyMs(): number {
    return this.#thread.busyMs;
  }

  /** Removes incomplete files, and ends the thread. A thread that hangs on its disk is abandoned. */
  end(): Promise<void> {
    return this.#thread.end();
  }
}
