import { TailwindError } from '../errors.js';
import { type SegmentRef, segmentKey } from '../segment-key.js';
import type { Replica } from './replica.js';

/** The replicas of a backup, by segment. Recovery learns of the committed ones. */
export class ReplicaTable {
  readonly #replicas = new Map<string, Replica>();
  /** Uncommitted replacements. One may exist beside the replica that it will replace, which stays until then. */
  readonly #replacements = new Map<string, Replica>();

  constructor(found: readonly Replica[]) {
    for (const replica of found) this.#replicas.set(replica.key, replica);
  }

  add(replica: Replica): void {
    (replica.record.committed ? this.#replicas : this.#replacements).set(replica.key, replica);
  }

  /** @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN */
  find(ref: SegmentRef): Replica {
    const replica = this.#replicas.get(segmentKey(ref));
    if (replica) return replica;
    throw unknownReplica(segmentKey(ref));
  }

  replacement(key: string): Replica | undefined {
    return this.#replacements.get(key);
  }

  holds(ref: SegmentRef): boolean {
    return this.#replicas.get(segmentKey(ref))?.record.committed ?? false;
  }

  /** Whether the replica is the one of its segment, rather than a replacement beside it. */
  isInPlace(replica: Replica): boolean {
    return this.#replicas.get(replica.key) === replica;
  }

  all(): Replica[] {
    return [...this.inPlace(), ...this.#replacements.values()];
  }

  inPlace(): Replica[] {
    return [...this.#replicas.values()];
  }

  /** All replicas of a segment, its replacement included. */
  ofSegment(key: string): Replica[] {
    return this.all().filter((replica) => replica.key === key);
  }

  ofLog(logId: bigint): Replica[] {
    return this.all().filter(({ record }) => record.logId === logId);
  }

  /**
   * Puts a replacement in the place of its segment's replica. Returns the replica that was there, which is forgotten.
   */
  putInPlace(replica: Replica): Replica | undefined {
    const before = this.#replicas.get(replica.key);
    if (before) this.forget(before);
    this.#replacements.delete(replica.key);
    this.#replicas.set(replica.key, replica);
    return before;
  }

  /** Revokes the access to a replica and removes it from the table. */
  forget(replica: Replica): void {
    replica.freed = true;
    replica.flushed.reject(unknownReplica(replica.key));
    for (const map of [this.#replicas, this.#replacements]) {
      if (map.get(replica.key) === replica) map.delete(replica.key);
    }
    if (replica.buffer && !replica.buffer.closed) replica.buffer.revoke();
  }

  clear(): void {
    this.#replicas.clear();
    this.#replacements.clear();
  }
}

export function unknownReplica(key: string): TailwindError {
  return new TailwindError('ERR_RDMC_REPLICA_UNKNOWN', `This backup does not have replica ${key}`);
}

export function wrongState({ key }: Replica, how: string): TailwindError {
  return new TailwindError('ERR_RDMC_REPLICA_STATE', `Replica ${key} ${how}`);
}
