import type { PrepareOrder } from '../writer/orders.js';
import { WriterThread } from './writer-thread.js';

/** Writer threads for the casts of a receiver. One is started ahead, so that a cast need not wait for it. */
export class WriterThreads {
  #spare: WriterThread | undefined;
  #ended = false;

  /**
   * @param order undefined where files go to sinks
   * @throws CastError where the directory cannot be used; then no thread is running
   */
  async prepare(order: PrepareOrder | undefined): Promise<string[]> {
    const first = new WriterThread();
    try {
      const removed = order ? await first.prepare(order) : [];
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

  /** Removes what interrupted casts have left, where it is too old or too much. Failures are ignored. */
  expire(order: PrepareOrder | undefined): void {
    if (order) this.#spare?.prepare(order).catch(() => {});
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
