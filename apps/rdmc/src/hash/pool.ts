import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';

const MOST_THREADS = 8;

/** Threads that hash files, so that the event loop is not blocked and handles progress and signals. */
export class HashPool {
  readonly #pool = new Piscina<string, string>({
    filename: fileURLToPath(new URL('./hash-worker.js', import.meta.url)),
    minThreads: 0,
    maxThreads: Math.min(availableParallelism(), MOST_THREADS),
    idleTimeout: 60_000,
  });

  /** SHA-256 of a file, in hexadecimal. */
  async sha256(path: string, signal: AbortSignal): Promise<string> {
    return this.#pool.run(path, { signal });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
