import type { RemovedKept } from '../resume/kept-data.js';
import type {
  BlocksOrder,
  EnterOrder,
  ExamineOrder,
  FinishOrder,
  HeadOrder,
  OpenOrder,
  PrepareOrder,
  StoreOrder,
} from '../writer/orders.js';
import type { StoredReport } from '../writer/stored-report.js';
import type { ComparedReport, WriterCalls } from '../writer/writer-calls.js';
import { StoringThread } from './storing-thread.js';

const MODULE = new URL('./writer.js', import.meta.url);

/** The application's end of the thread that stores. */
export class WriterThread {
  readonly #thread = new StoringThread<WriterCalls>(MODULE);
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
    const ports = [order.sinks, order.memory?.to].filter((port) => typeof port === 'object');
    return this.#thread.call('open', order, ports);
  }

  attach(device: number): Promise<void> {
    return this.#thread.call('attach', { device });
  }

  /** Compares a piece of the manifest. Returns the packed states of its entries. @throws CastError */
  examine(order: ExamineOrder): Promise<string> {
    return this.#thread.work('examine', order);
  }

  surplus(): Promise<ComparedReport> {
    return this.#thread.work('surplus', undefined);
  }

  /** Begins a run: messages that are stored from now on are from another group. */
  enterRun(order: EnterOrder): Promise<void> {
    return this.#thread.call('enterRun', order);
  }

  /** Compares blocks of an older file. Returns which of them it has. @throws CastError */
  compareBlocks(order: BlocksOrder): Promise<string> {
    return this.#thread.work('compareBlocks', order);
  }

  /** Takes a piece of the header of a file. Returns which blocks are wanted, with the last one. @throws CastError */
  wanted(order: HeadOrder): Promise<string | undefined> {
    return this.#thread.work('wanted', order);
  }

  /** Entries that could not be built from older files, when all messages are stored. */
  unbuilt(): Promise<number[]> {
    return this.#thread.work('unbuilt', undefined);
  }

  /** Messages are stored one after the other. @throws CastError where nothing more can be stored */
  async store(order: StoreOrder): Promise<void> {
    const stored = await this.#thread.work('store', order);
    this.#stored = { messages: this.#stored.messages + 1, ...stored };
  }

  finish(order: FinishOrder): Promise<StoredReport> {
    return this.#thread.work('finish', order);
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
    return this.#thread.busyMs;
  }

  /**
   * Removes temporary files that no later cast can use, and ends the thread. Waits as long as the thread makes progress. A thread that hangs on its disk is abandoned; it does all of this when the disk answers.
   */
  end(): Promise<void> {
    return this.#thread.end();
  }
}
