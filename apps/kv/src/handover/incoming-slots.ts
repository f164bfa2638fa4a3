import { Buffer } from 'node:buffer';
import { recordsIn } from '../cluster/peer-frames.js';
import { KvError } from '../errors.js';
import type { Hash } from '../store/hash.js';
import { decodeRecord, type KeyRecord } from '../store/record.js';
import { slotOf } from '../store/slot.js';
import type { Store } from '../store/store.js';

/** A hash here, and the generation that it has at the source. */
interface Copied {
  readonly hash: Hash;
  readonly generation: number;
}

/**
 * Applies the source's entries of some slots, in their order. The keys get versions of this log. They are not served before all
 * entries were applied: only then they are those of the source.
 */
export class IncomingSlots {
  readonly #hashes = new Map<string, Copied>();

  constructor(
    private readonly store: Store,
    private readonly slots: ReadonlySet<number>,
  ) {}

  /**
   * Applies the entries one by one, and yields behind each.
   * @param frame a number, and entries
   * @throws KvError, TailwindError for entries that are not valid, or do not fit into the log
   */
  *apply(frame: Buffer): Generator<void, void> {
    for (const { type, payload } of recordsIn(frame)) {
      const record = decodeRecord(type, payload);
      if (record) this.#apply(record);
      yield;
    }
  }

  #apply(record: KeyRecord): void {
    const { key, field } = record;
    const bytes = Buffer.from(key, 'latin1');
    const slot = slotOf(bytes, 0, bytes.length);
    if (!this.slots.has(slot)) {
      throw new KvError(
        'ERR_RDMC_KV_PROTOCOL',
        `a server handed over an entry of slot ${slot}, which it did not announce`,
      );
    }
    if (field !== undefined) this.#applyField(key, field, record);
    else if (typeof record.value === 'number') this.#applyHead(slot, record, record.value);
    else this.#applyString(slot, record);
  }

  #applyString(slot: number, { key, value, expiresAt }: KeyRecord): void {
    this.#hashes.delete(key);
    if (typeof value === 'string') this.store.put(slot, key, value, expiresAt);
    else if (this.store.keyspace.get(slot, key)?.value !== undefined) this.store.remove(slot, key);
  }

  #applyHead(slot: number, { key, expiresAt }: KeyRecord, generation: number): void {
    const known = this.#hashes.get(key);
    if (known?.generation === generation) this.store.retime(slot, key, known.hash, expiresAt);
    else this.#hashes.set(key, { hash: this.store.putHash(slot, key, expiresAt), generation });
  }

  #applyField(key: string, field: string, { version, value }: KeyRecord): void {
    const known = this.#hashes.get(key);
    // Of a hash that the key was earlier.
    if (!known || version <= known.generation) return;
    const { hash } = known;
    if (typeof value === 'string') this.store.putField(hash, key, field, value);
    else if (hash.get(field)?.value !== undefined) this.store.removeField(hash, key, field);
  }
}
