import { MAX_SWARMS } from '../constants.js';
import { PullReaderThread } from './pull-reader-thread.js';

/**
 * The reader threads of names that are not fetched at the moment, the least recently used first: they know the hashes of
 * files that have not changed, so that the next fetch need not wait for hashing.
 */
export class ReaderPool {
  readonly #idle = new Map<string, PullReaderThread>();
  #ended = false;

  /** The reader of a name, or a new one. The caller gives it back, or ends it. */
  take(name: string): PullReaderThread {
    const known = this.#idle.get(name);
    this.#idle.delete(name);
    known?.ref(true);
    return known ?? new PullReaderThread();
  }

  async give(name: string, reader: PullReaderThread): Promise<void> {
    if (this.#ended || this.#idle.has(name)) return reader.end();
    this.#idle.set(name, reader);
    reader.ref(false);
    await reader.rest().catch(() => {});
    const [oldest] = this.#idle;
    if (this.#idle.size <= MAX_SWARMS || !oldest) return;
    this.#idle.delete(oldest[0]);
    await oldest[1].end();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all([...this.#idle.values()].map((reader) => reader.end()));
    this.#idle.clear();
  }
}
