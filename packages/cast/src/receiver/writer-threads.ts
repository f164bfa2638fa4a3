import { WriterThread } from './writer-thread.js';

/** Writers' threads for the casts of a receiver. One is started ahead: a cast need not wait for it. */
export class WriterThreads {
  #spare: WriterThread | undefined;
  #ended = false;

  /** @throws CastError where the directory cannot be used; no thread is left then */
  async prepare(directory: string): Promise<string[]> {
    const first = new WriterThread();
    try {
      const removed = await first.prepare(directory);
      this.#keep(first);
      return removed;
    } catch (error) {
      await first.end();
      throw error;
    }
  }

  /** One for a cast, which ends it. */
  take(): WriterThread {
    const thread = this.#spare ?? new WriterThread();
    this.#spare = undefined;
    thread.ref(true);
    return thread;
  }

  /** To be called when a cast is over and another one may come. */
  refill(): void {
    if (!this.#ended && this.#spare === undefined) this.#keep(new WriterThread());
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#spare?.end();
  }

  #keep(thread: WriterThread): void {
    thread.ref(false);
    this.#spare = thread;
  }
}
