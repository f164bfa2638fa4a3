import { EARLY_SYNC_BYTES, MAX_UNSYNCED_BYTES, MAX_UNSYNCED_FILES } from '../constants.js';
import { givenUp } from '../errors.js';
import type { Commits, SealedFile } from './commits.js';
import type { FileSink } from './file-sink.js';
import type { SyncPort } from './sync-port.js';

interface Item {
  ready: boolean;
  /** Undefined for an action that does not concern a file. */
  readonly sink: FileSink | undefined;
  finish: () => void;
}

/**
 * Gives files their names when they are on disk. Many files are synced concurrently, so that the file system can write
 * them together; they still get their names in order. For use by one thread, which must return to its event loop now
 * and then.
 */
export class SyncQueue implements Commits {
  readonly #items: Item[] = [];
  /** Incomplete files whose early sync has not ended. */
  readonly #early = new Set<FileSink>();
  /** An incomplete file with too many unsynced bytes. */
  #ahead: FileSink | undefined;
  #running = 0;
  #wake: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly port: SyncPort,
    /** Called whenever something has been synced. */
    private readonly active: () => void,
  ) {}

  /** Whether the caller should wait for `room` before it adds more. */
  get isFull(): boolean {
    return this.#items.length >= MAX_UNSYNCED_FILES || this.#isAhead;
  }

  /** Sizes of the files that wait for their names. */
  get waitingBytes(): number {
    return this.#items.reduce((sum, { sink }) => sum + (sink?.begin.size ?? 0), 0);
  }

  /** Without this limit, the last sync of a large file on a slow disk would take longer than the sender waits. */
  get #isAhead(): boolean {
    return this.#ahead !== undefined && this.#early.has(this.#ahead);
  }

  written(sink: FileSink): void {
    if (sink.unsyncedBytes < EARLY_SYNC_BYTES) return;
    if (sink.isSyncing) {
      if (sink.unsyncedBytes >= MAX_UNSYNCED_BYTES) this.#ahead = sink;
      return;
    }
    this.#early.add(sink);
    const synced = sink.startSync((descriptor) => this.port.data(descriptor));
    this.#run(synced.finally(() => this.#early.delete(sink)));
  }

  file({ sink, commit, fail }: SealedFile): void {
    const item: Item = { ready: false, sink, finish: commit };
    this.#items.push(item);
    const synced = sink.sync((descriptor) => this.port.file(descriptor));
    const settled = synced.catch((error: unknown) => {
      item.finish = () => fail(error);
    });
    this.#run(
      settled.then(() => {
        item.ready = true;
        this.#advance();
      }),
    );
  }

  other(action: () => void): void {
    if (this.#items.length === 0) action();
    else this.#items.push({ ready: true, sink: undefined, finish: action });
  }

  /**
   * Waits until fewer files are queued and none has too many unsynced bytes.
   * @throws CastError where nothing more can be stored
   */
  async room(): Promise<void> {
    while (this.#mustWait && !this.#failure) await this.#progress();
    this.#check();
  }

  get #mustWait(): boolean {
    return this.#items.length > MAX_UNSYNCED_FILES / 2 || this.#isAhead;
  }

  /** Waits until all files have their names. @throws CastError where nothing more can be stored */
  async drained(): Promise<void> {
    while (this.#items.length > 0 && !this.#failure) await this.#progress();
    this.#check();
  }

  /** Gives no more names; pending calls of `room` and `drained` reject. */
  giveUp(): void {
    this.#failure ??= { error: givenUp() };
    this.#wake();
  }

  /** Gives up, waits until no descriptor is in use, and closes files without a name. */
  async abandon(): Promise<void> {
    this.giveUp();
    while (this.#running > 0) await this.#progress();
    for (const { sink } of this.#items.splice(0)) sink?.release();
  }

  /** Resolves when the next sync ends. A sync must be running. */
  #progress(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #run(work: Promise<void>): void {
    this.#running += 1;
    void work.finally(() => {
      this.#running -= 1;
      this.active();
      this.#wake();
    });
  }

  #advance(): void {
    try {
      // An item that throws stays in the queue, so that `abandon` closes it.
      for (let item = this.#items[0]; item?.ready && !this.#failure; item = this.#items[0]) {
        item.finish();
        this.#items.shift();
      }
    } catch (error) {
      this.#failure = { error };
    }
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
