import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import { messageOf, TailwindError } from '../errors.js';
import type { Logger } from '../options.js';
import { zero } from '../zero.js';

/**
 * Registered buffers that are zeroed and that peers may write, at most `limit` at once, those in use included
 * (Tailwind, section 3.2). A returned buffer is deregistered for good, so that a late write cannot reach the next
 * user of the memory; another buffer is prepared in the background.
 */
export class BufferPool {
  readonly #ready: MemoryRegion[] = [];
  readonly #making = new Set<Promise<void>>();
  #used = 0;
  #closed = false;

  private constructor(
    private readonly protectionDomain: ProtectionDomain,
    readonly bufferBytes: number,
    private granted: number,
    private readonly logger: Logger | undefined,
  ) {}

  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY, ERR_RDMC_DEVICE_LIMIT */
  static async create(
    protectionDomain: ProtectionDomain,
    bufferBytes: number,
    limit: number,
    logger?: Logger,
  ): Promise<BufferPool> {
    const pool = new BufferPool(protectionDomain, bufferBytes, limit, logger);
    try {
      for (let i = 0; i < limit; i += 1) pool.#ready.push(await pool.#make());
    } catch (error) {
      await pool.close();
      throw error;
    }
    return pool;
  }

  /** Buffers that `take` gives without waiting. */
  get free(): number {
    return this.#ready.length;
  }

  get used(): number {
    return this.#used;
  }

  /** Buffers that may be in use at once. */
  get limit(): number {
    return this.granted;
  }

  /** Changes the limit. Buffers in use beyond a lower one are not taken back. */
  async grant(limit: number): Promise<void> {
    this.granted = limit;
    const surplus = Math.max(0, Math.min(this.#ready.length, this.#used + this.#ready.length - limit));
    const closing = this.#ready.splice(0, surplus).map((buffer) => buffer.close());
    while (this.#replenish());
    await Promise.all(closing);
  }

  /**
   * A zeroed buffer.
   * @throws TailwindError ERR_RDMC_BACKUP_FULL when all are in use
   */
  async take(): Promise<MemoryRegion> {
    // Returned buffers count as free while they are prepared.
    while (this.#ready.length === 0 && this.#making.size > 0 && !this.#closed) {
      await Promise.race(this.#making);
    }
    const buffer = this.#used < this.limit ? this.#ready.pop() : undefined;
    if (!buffer) {
      this.#replenish();
      throw new TailwindError(
        'ERR_RDMC_BACKUP_FULL',
        this.limit === 0
          ? 'The disk of this backup is too slow to write one buffer while its power supply holds up (powerHoldSeconds)'
          : `All ${this.limit} buffers of this backup are open or not flushed yet`,
      );
    }
    this.#used += 1;
    return buffer;
  }

  /** Takes a buffer back, whatever its peers do: its memory and its key are not used again. */
  async giveBack(buffer: MemoryRegion): Promise<void> {
    await buffer.close();
    this.#used -= 1;
    this.#replenish();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#making);
    await Promise.all(this.#ready.splice(0).map((buffer) => buffer.close()));
  }

  /** Whether one more is being prepared. */
  #replenish(): boolean {
    if (this.#closed || this.#used + this.#ready.length + this.#making.size >= this.limit) return false;
    const making = this.#make().then(
      async (buffer) => {
        this.#making.delete(making);
        if (this.#closed) await buffer.close();
        else this.#ready.push(buffer);
      },
      (error: unknown) => {
        // The next `take` tries again.
        this.#making.delete(making);
        this.logger?.warn?.({ reason: messageOf(error) }, 'a buffer could not be allocated');
      },
    );
    this.#making.add(making);
    return true;
  }

  async #make(): Promise<MemoryRegion> {
    const buffer = await this.protectionDomain.allocate(this.bufferBytes, { remoteWrite: true });
    await zero(buffer.view());
    return buffer;
  }
}
