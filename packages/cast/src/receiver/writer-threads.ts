import { WriterThread } from './writer-thread.js';

/** Writer threads for the casts of a receiver. One is started ahead, so that a cast need not wait for it. */
export class WriterThreads {
  #spare: WriterThread | undefined;
  #ended = false;

  /**
   * @param directory undefined where files go to sinks
   * @throws CastError where the directory cannot be used; then no thread is running
   */
  async prepare(directory: string | undefined): Promise<string[]> {
    const first = new WriterThread();
    try {
      const removed = directory === undefined ? [] : await first.prepare(directory);
      this.#keep(first);
      return removed;
    } catch (error) {
      await first.end();
      throw error;
    }
  }

  /** Returns a thread for a cast; the cast ends it. */
  take(): WriterThread {
    const thread = this.#spare ?? new WriterThread();
    this.#spare = undefined;
    thread.ref(true);
    return thread;
  }

  /** Call this when a cast is over and another one may come. */
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
