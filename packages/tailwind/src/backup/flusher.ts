import { setTimeout as delay } from 'node:timers/promises';
import { SerialQueue } from '@rdmc/common';
import { FLUSH_RETRY_MS } from '../constants.js';
import { messageOf } from '../errors.js';
import type { Logger } from '../options.js';
import type { ReplicaStore } from '../storage/replica-store.js';
import type { BufferPool } from './buffer-pool.js';
import { FlushFailures } from './flush-failures.js';
import type { Replica } from './replica.js';

/**
 * Writes closed replicas to files, one after the other, and frees their buffers. A write that failed is
 * retried: until it succeeds the replica keeps its buffer, which counts against the pool's limit.
 */
export class Flusher {
  readonly failures = new FlushFailures();
  readonly #work = new SerialQueue();
  readonly #stop = new AbortController();

  constructor(
    private readonly store: ReplicaStore,
    private readonly pool: BufferPool,
    private readonly logger: Logger | undefined,
    /** A replica of this size was written durably in this time. */
    private readonly onWritten: (bytes: number, ms: number) => void = () => {},
  ) {}

  flush(replica: Replica): void {
    void this.#work.run(() => this.#flush(replica));
  }

  /** Frees a replica's file and buffer, after the write under way. */
  free(replica: Replica): Promise<void> {
    return this.#work.run(async () => {
      await this.#giveBack(replica);
      await this.store.remove(replica.record);
    });
  }

  /** Frees the buffer of a replica whose file, if there is one, belongs to its successor. */
  release(replica: Replica): Promise<void> {
    return this.#work.run(() => this.#giveBack(replica));
  }

  /** Starts no further write; resolves when the write under way has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work.idle();
  }

  async #flush(replica: Replica): Promise<void> {
    const { buffer } = replica;
    if (!buffer || replica.freed || this.#stop.signal.aborted) return;
    try {
      const begun = performance.now();
      await this.store.write(replica.record, buffer.view());
      this.onWritten(replica.record.byteLength, performance.now() - begun);
    } catch (error) {
      this.failures.failed(replica, error);
      this.logger?.warn?.(
        { replica: replica.key, reason: messageOf(error) },
        'a flush failed and will be retried',
      );
      void this.#retry(replica);
      return;
    }
    await this.#giveBack(replica);
    if (!replica.freed) replica.flushed.resolve();
  }

  async #retry(replica: Replica): Promise<void> {
    const stopped = await delay(FLUSH_RETRY_MS, false, { signal: this.#stop.signal }).catch(() => true);
    if (!stopped) this.flush(replica);
  }

  async #giveBack(replica: Replica): Promise<void> {
    const { buffer } = replica;
    this.failures.settled(replica);
    replica.buffer = undefined;
    if (buffer) await this.pool.giveBack(buffer);
  }
}
