import type { SegmentRef } from '../segment-key.js';
import type { LogEnvironment } from './log-environment.js';

/** The backups that have, or may have, a replica of a segment which does not count: not yet, or not any more. */
export class UncountedReplicas {
  /** Backups that are asked for a buffer, or whose buffer is about to become one of the replicas. */
  readonly #asked = new Set<number>();
  /** Backups that may have a stale replica. They free it once the replicas that count are in place. */
  readonly #stale = new Set<number>();

  constructor(
    private readonly environment: Pick<LogEnvironment, 'staleReplicas'>,
    private readonly segment: SegmentRef,
    /** The backups with a replica that counts. */
    private readonly members: () => readonly number[],
  ) {}

  get asked(): ReadonlySet<number> {
    return this.#asked;
  }

  ask(member: number): void {
    this.#asked.add(member);
  }

  /** The backup's buffer has become one of the replicas. */
  granted(member: number): void {
    this.#asked.delete(member);
  }

  /** The backup's buffer will not become one of the replicas. */
  abandon(member: number): void {
    this.#asked.delete(member);
    this.#stale.add(member);
  }

  /** The backup's replica was one that counts. */
  outdate(member: number): void {
    this.#stale.add(member);
  }

  /** Whether a backup may have a replica that counted, and has not been told to free it. */
  isStaleAt(member: number): boolean {
    return this.#stale.has(member);
  }

  /** Whether a backup has, or may be about to have, a replica that counts. */
  isWantedAt(member: number): boolean {
    return this.#asked.has(member) || this.members().includes(member);
  }

  /** The replicas of lost connections do not count any more. A backup that lives can use their buffers again. */
  free(): void {
    for (const member of this.#stale) {
      this.environment.staleReplicas.free(member, this.segment, () => this.isWantedAt(member));
    }
    this.#stale.clear();
  }
}
