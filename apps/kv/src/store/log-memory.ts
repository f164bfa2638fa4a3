import type { Buffer } from 'node:buffer';
import type { CommitLog } from '../log/commit-log.js';

interface Segment {
  readonly id: bigint;
  readonly bytes: Buffer;
  /** Entries that the index points to. */
  entries: number;
}

/** The segments of the log that an index points into, by small numbers. */
export class LogMemory {
  readonly #numbers = new Map<bigint, number>();
  readonly #segments: (Segment | undefined)[] = [];
  readonly #free: number[] = [];
  #lastId: bigint | undefined;
  #lastNumber = 0;

  constructor(private readonly log: Pick<CommitLog, 'memory'>) {}

  /** One entry more. Returns the number of its segment; undefined: the log does not have the segment in memory. */
  hold(segmentId: bigint): number | undefined {
    // Most entries are of the segment of the one before.
    const number = segmentId === this.#lastId ? this.#lastNumber : this.#numberOf(segmentId);
    if (number === undefined) return undefined;
    this.#lastId = segmentId;
    this.#lastNumber = number;
    this.#segments[number]!.entries += 1;
    return number;
  }

  /** One entry fewer: the view of a segment that the log may free must not stay. */
  release(number: number): void {
    const segment = this.#segments[number]!;
    segment.entries -= 1;
    if (segment.entries > 0) return;
    this.#segments[number] = undefined;
    this.#numbers.delete(segment.id);
    this.#free.push(number);
    if (segment.id === this.#lastId) this.#lastId = undefined;
  }

  bytes(number: number): Buffer {
    return this.#segments[number]!.bytes;
  }

  id(number: number): bigint {
    return this.#segments[number]!.id;
  }

  #numberOf(segmentId: bigint): number | undefined {
    const known = this.#numbers.get(segmentId);
    if (known !== undefined) return known;
    const bytes = this.log.memory(segmentId);
    if (!bytes) return undefined;
    const number = this.#free.pop() ?? this.#segments.length;
    this.#segments[number] = { id: segmentId, bytes, entries: 0 };
    this.#numbers.set(segmentId, number);
    return number;
  }
}
