import { EARLY_SYNC_BYTES, MAX_UNSYNCED_BYTES, MAX_UNSYNCED_FILES } from '../constants.js';
import { givenUp } from '../errors.js';
import type { Commits, SealedFile } from './commits.js';
import type { FileSink } from './file-sink.js';
import type { SyncPort } from './sync-port.js';

interface Item {
  ready: boolean;
  /** Undefined for what is no file. */
  readonly sink: FileSink | undefined;
  finish: () => void;
}

/**
 * Gives files their names when they are on disk. Many are synced at a time, so that the file system can write them
 * together; their names come in order all the same. To be used by one thread, which returns to its event loop now
 * and then.
 */
export class SyncQueue implements Commits {
  readonly #items: Item[] = [];
  /** Files under way whose early sync has not ended. */
  readonly #early = new Set<FileSink>();
  /** One of them that was written far ahead of the disk. */
  #ahead: FileSink | undefined;
  #running = 0;
  #wake: () => void = () => {};
  #failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly port: SyncPort,
    /** Called whenever something has been synced. */
    private readonly active: () => void,
  ) {}

  /** Whether more should wait for `room`. */
  get isFull(): boolean {
    return this.#items.length >= MAX_UNSYNCED_FILES || this.#isAhead;
  }

  /** Otherwise the last sync of a large file on a slow disk would take longer than its sender waits. */
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

  /** Waits until fewer files wait, and no file is far ahead of the disk. @throws CastError where nothing more can be stored */
  async room(): Promise<void> {
    while (this.#mustWait && !this.#failure) await this.#progress();
    this.#check();
  }

  get #mustWait(): boolean {
    return this.#items.length > MAX_UNSYNCED_FILES / 2 || this.#isAhead;
  }

  /** Waits until everything has its name. @throws CastError where nothing more can be stored */
  async drained(): Promise<void> {
    while (this.#items.length > 0 && !this.#failure) await this.#progress();
    this.#check();
  }

  /** No name is given any more, and what waits for room, or for all names, is refused. */
  giveUp(): void {
    this.#failure ??= { error: givenUp() };
    this.#wake();
  }

  /** Gives up, waits until no descriptor is in use, and lets go of files without a name. */
  async abandon(): Promise<void> {
    this.giveUp();
    while (this.#running > 0) await this.#progress();
    for (const { sink } of this.#items.splice(0)) sink?.release();
  }

  /** The next time that something has been synced. Something is under way. */
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
      // One that throws stays, so that `abandon` lets go of it.
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
