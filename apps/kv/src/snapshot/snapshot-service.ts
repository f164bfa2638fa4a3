import { Buffer } from 'node:buffer';
import type { SlotTable } from '../cluster/slot-table.js';
import { KvError } from '../errors.js';
import { SLOTS, SNAPSHOT_PAGE_BYTES } from '../limits.js';
import type { ReadLease } from '../server/executor.js';
import { NO_EXPIRY } from '../store/entry.js';
import { Hash, type KeyEntry } from '../store/hash.js';
import { encodeField, encodeHead, encodeKeyObject } from '../store/record.js';
import type { Store } from '../store/store.js';
import { encodePage, encodeRecord, encodeSection, FIRST, LAST, type Place } from './sections.js';

export interface SnapshotServiceOptions {
  readonly self: number;
  readonly store: Store;
  readonly table: Pick<SlotTable, 'owner' | 'epoch'>;
  readonly lease: ReadLease;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A page that is being filled. */
interface Filling {
  bytes: number;
  /** The last append that a record depends on. */
  sequence: number;
}

/** Gives the slots of this server to a snapshot, some at a time. */
export class SnapshotService {
  constructor(private readonly options: SnapshotServiceOptions) {}

  /**
   * A page of the slots that this server has, from a place on: about SNAPSHOT_PAGE_BYTES, and at least one key. A key is in it as it
   * is at this moment, with all fields. Resolves when the log has acknowledged what is in it.
   *
   * It is read in one turn, in which commands on the same slots would run here: the slot table does not name an owner of slots that
   * are being handed over, and the lease is checked behind all reads. What happens while the log is waited for leaves it what an
   * owner read after the request.
   * @param to the last slot
   * @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: this server does not have a lease; the log's refusal: ask again
   */
  async page(from: Place, to = SLOTS - 1): Promise<Buffer> {
    const { store, lease } = this.options;
    const filling: Filling = { bytes: 0, sequence: 0 };
    const sections: Buffer[] = [];
    let place = from;
    while (place.slot <= to && place.slot < SLOTS && filling.bytes < SNAPSHOT_PAGE_BYTES)
      place = this.#take(place, filling, sections);
    // What was read before the lease ended is what an owner read.
    if (!lease.valid) throw withoutLease();
    this.#addRemovals(from.slot, place.slot, filling);
    if (filling.sequence > store.keyspace.acknowledged) await store.whenAcknowledged(filling.sequence);
    return encodePage(place, sections);
  }

  /** Adds a section of one slot. Returns where the next one begins. */
  #take({ slot, after }: Place, filling: Filling, sections: Buffer[]): Place {
    const { self, table, store } = this.options;
    const next = { slot: slot + 1, after: 0 };
    if (table.owner(slot) !== self) return next;
    const records: Buffer[] = [];
    const last = this.#records(slot, after, filling, records);
    const flags = (after === 0 ? FIRST : 0) | (last === undefined ? LAST : 0);
    const head = { slot, flags, epoch: table.epoch, version: store.lastVersion };
    const section = encodeSection(head, Buffer.concat(records));
    filling.bytes += section.length;
    sections.push(section);
    return last === undefined ? next : { slot, after: last };
  }

  /** Adds records, in the order of the keys' hashes. Returns the last hash; undefined: the slot has no more. */
  #records(slot: number, after: number, filling: Filling, records: Buffer[]): number | undefined {
    const { keyspace } = this.options.store;
    const keys = keyspace.byHash(slot, after === 0);
    let bytes = filling.bytes;
    let last = after;
    for (const { key, hash } of keys) {
      if (hash <= after) continue;
      // Keys with one hash are on one page.
      if (bytes >= SNAPSHOT_PAGE_BYTES && hash !== last && records.length > 0) return last;
      last = hash;
      const entry = keyspace.get(slot, key);
      if (entry === undefined || !this.#lives(entry)) continue;
      for (const part of partsOf(key, entry)) {
        records.push(part);
        bytes += part.length;
      }
      filling.sequence = Math.max(filling.sequence, entry.sequence, sequenceOf(entry));
    }
    keyspace.forgetOrder(slot);
    return undefined;
  }

  /** A key whose removal the log refuses is there again: the page, which is without it, waits for that. */
  #addRemovals(first: number, last: number, filling: Filling): void {
    const { keyspace } = this.options.store;
    for (const [key, slot] of keyspace.removed) {
      if (slot < first || slot > last) continue;
      filling.sequence = Math.max(filling.sequence, keyspace.get(slot, key)?.sequence ?? 0);
    }
  }

  #lives({ value, expiresAt }: KeyEntry): boolean {
    const { now = Date.now } = this.options;
    return value !== undefined && (expiresAt === NO_EXPIRY || expiresAt > now());
  }
}

function sequenceOf({ value }: KeyEntry): number {
  return value instanceof Hash ? value.sequence : 0;
}

function partsOf(key: string, { value, version, expiresAt }: KeyEntry): Buffer[] {
  if (!(value instanceof Hash))
    return encodeRecord(encodeKeyObject({ key, version, value: value!, expiresAt }));
  const head = encodeRecord(encodeHead({ key, version, value: value.generation, expiresAt }));
  const fields = [...value.entries()].map(([field, entry]) =>
    encodeRecord(encodeField(key, field, entry.version, entry.value)),
  );
  return [head, ...fields].flat();
}

function withoutLease(): KvError {
  return new KvError('ERR_RDMC_KV_SLOT_UNAVAILABLE', 'this server does not have a lease now: ask again');
}
