import type { Buffer } from 'node:buffer';
import { KvError } from '../errors.js';
import type { CommitLog } from '../log/commit-log.js';

interface Segment {
  readonly id: bigint;
  readonly bytes: Buffer;
  /** Entries that the index points to. */
  entries: number;
}

/** What an index needs of a log. */
export type LogWithMemory = Pick<CommitLog, 'memory' | 'ended'>;

/** The segments of the log that an index points into, by small numbers. Nothing is read any more when the log has ended. */
export class LogMemory {
  readonly #numbers = new Map<bigint, number>();
  readonly #segments: (Segment | undefined)[] = [];
  readonly #free: number[] = [];
  #lastId: bigint | undefined;
  #lastNumber = 0;
  /** Asked with each key: the signal takes longer. */
  #hasEnded: boolean;

  constructor(private readonly log: LogWithMemory) {
    this.#hasEnded = log.ended.aborted;
    log.ended.addEventListener('abort', () => this.#end(), { once: true });
  }

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
    const segment = this.#segmentAt(number);
    segment.entries -= 1;
    if (segment.entries > 0) return;
    this.#segments[number] = undefined;
    this.#numbers.delete(segment.id);
    this.#free.push(number);
    if (segment.id === this.#lastId) this.#lastId = undefined;
  }

  /** @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: the log has ended, and what the index has of it is not complete any more */
  assertOpen(): void {
    if (this.#hasEnded) throw ended();
  }

  /** @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: the log has ended */
  bytes(number: number): Buffer {
    return this.#segmentAt(number).bytes;
  }

  /** @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: the log has ended */
  id(number: number): bigint {
    return this.#segmentAt(number).id;
  }

  #segmentAt(number: number): Segment {
    const segment = this.#segments[number];
    if (segment) return segment;
    throw ended();
  }

  #numberOf(segmentId: bigint): number | undefined {
    const known = this.#numbers.get(segmentId);
    if (known !== undefined) return known;
    const bytes = this.#hasEnded ? undefined : this.log.memory(segmentId);
    if (!bytes) return undefined;
    const number = this.#free.pop() ?? this.#segments.length;
    this.#segments[number] = { id: segmentId, bytes, entries: 0 };
    this.#numbers.set(segmentId, number);
    return number;
  }

  /** The log is about to give its memory back. */
  #end(): void {
    this.#hasEnded = true;
    this.#lastId = undefined;
    this.#numbers.clear();
    this.#segments.fill(undefined);
  }
}

function ended(): KvError {
  return new KvError('ERR_RDMC_KV_SLOT_UNAVAILABLE', 'the log of this server has ended: ask another server');
}
