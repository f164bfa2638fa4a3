import { setMaxListeners } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';
import { MAX_SCAN_THREADS, SCAN_THREAD_IDLE_MS } from '../constants.js';
import type { ScanAnswer, ScanJob } from './scan-job.js';

type Pool = Piscina<ScanJob, ScanAnswer>;

/** Threads of a process that scan. */
export const SCAN_THREADS = Math.min(availableParallelism(), MAX_SCAN_THREADS);

/**
 * The threads are there for all backups of a process. Idle ones end by themselves, and do not keep the process alive: so
 * nothing has to end the pool.
 */
let shared: Promise<Pool> | undefined;

/** Loads the module of the pool at the first scan: most processes never scan, and all would start later. */
async function loadPool(): Promise<Pool> {
  const { Piscina } = await import('piscina');
  return new Piscina<ScanJob, ScanAnswer>({
    filename: fileURLToPath(new URL('./scan-worker.js', import.meta.url)),
    minThreads: 0,
    maxThreads: SCAN_THREADS,
    idleTimeout: SCAN_THREAD_IDLE_MS,
  });
}

/** Scans segments in threads, in parallel and beside the event loop. They start when needed. */
export class Scanner {
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor() {
    // Each scan that waits or runs has one.
    setMaxListeners(0, this.#closed.signal);
  }

  /** Rejects when the scanner is closed meanwhile. */
  async scan(job: ScanJob): Promise<ScanAnswer> {
    const { signal } = this.#closed;
    shared ??= loadPool();
    const pool = await shared;
    signal.throwIfAborted();
    const answer = pool.run(job, { signal });
    const ended = answer.catch(() => {}).finally(() => this.#running.delete(ended));
    this.#running.add(ended);
    return answer;
  }

  /** Abandons the scans that wait or run; resolves when none does. Idempotent. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the scanner is closed'));
    await Promise.all(this.#running);
  }
}
