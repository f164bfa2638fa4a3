import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryRegion } from '@rdmc/verbs';
import { BACKUP_RETRY_MS } from '../constants.js';
import { zero } from '../zero.js';
import type { LogEnvironment } from './log-environment.js';
import { Segment, type SegmentRole } from './segment.js';

/** The segments of a log in this member's memory, and the subset that a digest names. */
export class SegmentTable {
  readonly #segments = new Map<bigint, Segment>();
  /** Survivors that no digest names yet. */
  readonly #unnamed = new Set<Segment>();
  /** Cleaned segments: later digests do not name them. */
  readonly #dropped = new Set<Segment>();
  readonly #freeing = new Set<Promise<void>>();
  #lastId = 0n;
  #allocating = 0;

  constructor(private readonly environment: LogEnvironment) {}

  /** Segments that have memory, or are about to get it. */
  get count(): number {
    return this.#segments.size + this.#allocating + this.#freeing.size;
  }

  get(segmentId: bigint): Segment | undefined {
    return this.#segments.get(segmentId);
  }

  all(): Iterable<Segment> {
    return this.#segments.values();
  }

  /** The digest of a head that is opened now: the whole log, the head included. Ascending. */
  digest(): bigint[] {
    return [...this.#segments.values()]
      .filter((segment) => !this.#unnamed.has(segment) && !this.#dropped.has(segment))
      .map(({ id }) => id);
  }

  /** Whether the segment stays part of the log: it was not cleaned. */
  keeps(segment: Segment): boolean {
    return !this.#dropped.has(segment);
  }

  /** Whether the newest digest names it. */
  names(segment: Segment): boolean {
    return !this.#unnamed.has(segment) && !this.#dropped.has(segment);
  }

  /**
   * Creates a segment in zeroed memory, with the next number. Waits while memory cannot be registered.
   * @throws the reason for which the log ended meanwhile
   */
  async make(role: SegmentRole): Promise<Segment> {
    const { options, ended } = this.environment;
    this.#allocating += 1;
    const region = await this.#allocate(role).finally(() => {
      this.#allocating -= 1;
    });
    if (ended.aborted) {
      await region.close();
      throw ended.reason;
    }
    const { logId, incarnation } = options;
    this.#lastId += 1n;
    const segment = new Segment(
      this.environment,
      { logId, segmentId: this.#lastId, incarnation },
      region,
      role,
    );
    this.#segments.set(segment.id, segment);
    if (role === 'survivor') this.#unnamed.add(segment);
    return segment;
  }

  /** From the next digest on, the survivors are part of the log and the cleaned segments are not. */
  swap(cleaned: Iterable<Segment>, survivors: Iterable<Segment>): void {
    for (const segment of cleaned) this.#dropped.add(segment);
    for (const segment of survivors) this.#unnamed.delete(segment);
  }

  /** Frees a cleaned segment's memory, here and at its backups. */
  async free(segment: Segment): Promise<void> {
    this.#segments.delete(segment.id);
    this.#dropped.delete(segment);
    const freed = segment.free();
    this.#freeing.add(freed);
    await freed.finally(() => this.#freeing.delete(freed));
  }

  /** Frees all memory, after the end of the log. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#freeing);
    await Promise.all([...this.#segments.values()].map(({ replicas }) => replicas.forget()));
    await Promise.all([...this.#segments.values()].map(({ region }) => region.close()));
    this.#segments.clear();
  }

  async #allocate(role: SegmentRole): Promise<MemoryRegion> {
    const { options, ended, refuse } = this.environment;
    const purpose = role === 'head' ? 'open' : 'clean';
    for (;;) {
      try {
        const region = await options.plane.protectionDomain.allocate(options.segmentBytes);
        await zero(region.view());
        return region;
      } catch (error) {
        ended.throwIfAborted();
        refuse(purpose, error as Error);
        await delay(BACKUP_RETRY_MS, undefined, { signal: ended });
      }
    }
  }
}
