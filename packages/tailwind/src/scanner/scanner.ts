import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { MAX_SCAN_THREADS, SCAN_THREAD_IDLE_MS } from '../constants.js';
import type { ScanAnswer, ScanJob } from './scan-job.js';

/** Threads that scan segments, in parallel and beside the event loop. They start when needed. */
export class Scanner {
  readonly #pool = new Piscina<ScanJob, ScanAnswer>({
    filename: fileURLToPath(new URL('./scan-worker.js', import.meta.url)),
    minThreads: 0,
    maxThreads: Math.min(availableParallelism(), MAX_SCAN_THREADS),
    idleTimeout: SCAN_THREAD_IDLE_MS,
  });

  scan(job: ScanJob): Promise<ScanAnswer> {
    return this.#pool.run(job);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
