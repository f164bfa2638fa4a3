import { messageOf } from '../errors.js';
import type { Logger } from '../options.js';
import type { CheckedBackupOptions } from './backup-options.js';
import type { BufferPool } from './buffer-pool.js';
import { type GrantFacts, grantedBuffers, measuredGrant } from './disk-grant.js';
import { diskOf, FlushSpeed, type MeasuredDisk, measureDisk } from './disk-speed.js';

/** What a backup knows of its disk. */
export interface DiskFacts {
  /** As it was measured when the backup was opened. */
  readonly bytesPerSecond: number;
  /** Of the last flushes; undefined: there were too few. */
  readonly flushedBytesPerSecond: number | undefined;
  /** How long this machine runs after its power has failed. */
  readonly holdSeconds: number;
  /** Buffers that are granted. */
  readonly granted: number;
  /** Buffers that were configured. */
  readonly configured: number;
}

/** The buffers that a backup grants, by the slower of the measurement at the start and the flushes since. */
export class PowerGrant {
  readonly #flushes = new FlushSpeed();
  #granted: number;
  #pool: Pick<BufferPool, 'grant'> | undefined;

  private constructor(
    private readonly facts: GrantFacts,
    granted: number,
    private readonly logger: Logger | undefined,
  ) {
    this.#granted = granted;
  }

  /** Undefined without `powerHoldSeconds`. @throws errors of the file system */
  static async of(options: CheckedBackupOptions): Promise<PowerGrant | undefined> {
    const { powerHoldSeconds: holdSeconds, directory, segmentBytes, buffers, logger } = options;
    if (holdSeconds === undefined) return undefined;
    return PowerGrant.measure(diskOf(directory), { holdSeconds, segmentBytes, buffers }, logger);
  }

  /** Measures the disk, while as many streams write at once as buffers are granted. @throws errors of the file system */
  static async measure(
    disk: MeasuredDisk,
    facts: Omit<GrantFacts, 'bytesPerSecond'>,
    logger: Logger | undefined,
  ): Promise<PowerGrant> {
    const measure = (streams: number): Promise<number> => measureDisk(disk, streams, facts.segmentBytes);
    const { granted, bytesPerSecond } = await measuredGrant(measure, facts);
    const made = new PowerGrant({ ...facts, bytesPerSecond }, granted, logger);
    if (granted < facts.buffers) made.#warn();
    return made;
  }

  /** Buffers that may be in use at once. */
  get granted(): number {
    return this.#granted;
  }

  /** From now on the pool has this limit. */
  apply(pool: Pick<BufferPool, 'grant'>): void {
    this.#pool = pool;
  }

  /** A replica was written durably. */
  flushed(bytes: number, ms: number): void {
    this.#flushes.record(bytes, ms);
    const { bytesPerSecond = Number.POSITIVE_INFINITY } = this.#flushes;
    const slower = Math.min(bytesPerSecond, this.facts.bytesPerSecond);
    const granted = grantedBuffers({ ...this.facts, bytesPerSecond: slower });
    if (granted === this.#granted) return;
    const isLower = granted < this.#granted;
    this.#granted = granted;
    if (isLower) this.#warn();
    this.#pool?.grant(granted).catch((error: unknown) => {
      this.logger?.warn?.({ reason: messageOf(error) }, 'a buffer was not given back');
    });
  }

  report(): DiskFacts {
    const { bytesPerSecond, holdSeconds, buffers: configured } = this.facts;
    const flushedBytesPerSecond = this.#flushes.bytesPerSecond;
    return { bytesPerSecond, flushedBytesPerSecond, holdSeconds, granted: this.#granted, configured };
  }

  #warn(): void {
    this.logger?.warn?.(this.report(), 'the disk is too slow for all buffers: fewer are granted');
  }
}
