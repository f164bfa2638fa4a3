import type { Buffer } from 'node:buffer';
import type { SlotTable } from '../cluster/slot-table.js';
import { KvError } from '../errors.js';
import { SLOTS } from '../limits.js';
import type { ReadLease } from '../server/executor.js';
import { NO_EXPIRY } from '../store/entry.js';
import { Hash, type KeyEntry } from '../store/hash.js';
import type { Store } from '../store/store.js';
import { PageContent } from './page-content.js';
import { FIRST, LAST, type Place } from './sections.js';

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
  readonly content: PageContent;
  /** The last append that a record depends on. */
  sequence: number;
}

/** Gives the slots of this server to a snapshot, some at a time. */
export class SnapshotService {
  /** Resolves when the page that is being made is done. */
  #underWay: Promise<void> | undefined;

  constructor(private readonly options: SnapshotServiceOptions) {}

  /**
   * A page of the slots that this server has, from a place on: about SNAPSHOT_PAGE_BYTES, and at least one key. The page has the
   * state of a key, with all fields, at one moment. Resolves when the log has acknowledged the content. Pages are made one at a
   * time: each may take the memory of the largest hash.
   * @param to the last slot
   * @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: this server does not have a lease; the log's refusal: ask again.
   *   ERR_RDMC_ENTRY_TOO_LARGE: a hash does not fit into a page
   */
  async page(from: Place, to = SLOTS - 1): Promise<Buffer> {
    while (this.#underWay !== undefined) await this.#underWay;
    const page = this.#page(from, to);
    const end = (): void => {
      this.#underWay = undefined;
    };
    this.#underWay = page.then(end, end);
    return page;
  }

  /**
   * The page is read in one turn, in which commands on the same slots would run here: the slot table does not name an owner of slots
   * that are being handed over, and the lease is checked directly after the reads. Later events, such as the loss of a slot while the
   * log is awaited or the page is encoded, do not change that: an owner read the page after the request.
   */
  async #page(from: Place, to: number): Promise<Buffer> {
    const { store, lease } = this.options;
    const filling: Filling = { content: new PageContent(), sequence: 0 };
    let place = from;
    while (place.slot <= to && place.slot < SLOTS && !filling.content.isFull)
      place = this.#take(place, filling);
    // What was read before the lease ended is what an owner read.
    if (!lease.valid) throw withoutLease();
    this.#addRemovals(from.slot, place.slot, filling);
    if (filling.sequence > store.keyspace.acknowledged) await store.whenAcknowledged(filling.sequence);
    return filling.content.encode(place);
  }

  /** Adds a section of one slot. Returns where the next one begins. */
  #take({ slot, after }: Place, filling: Filling): Place {
    const { self, table, store } = this.options;
    const next = { slot: slot + 1, after: 0 };
    if (table.owner(slot) !== self) return next;
    const last = this.#addKeys(slot, after, filling);
    const flags = (after === 0 ? FIRST : 0) | (last === undefined ? LAST : 0);
    filling.content.endSection({ slot, flags, epoch: table.epoch, version: store.lastVersion });
    return last === undefined ? next : { slot, after: last };
  }

  /** Adds keys in the order of their hashes. Returns the last hash; undefined: the slot has no more. */
  #addKeys(slot: number, after: number, filling: Filling): number | undefined {
    const { keyspace } = this.options.store;
    const keys = keyspace.byHash(slot, after === 0);
    let last = after;
    for (const { key, hash } of keys) {
      if (hash <= after) continue;
      // Keys with one hash are on one page.
      if (filling.content.isFull && hash !== last) return last;
      last = hash;
      const entry = keyspace.get(slot, key);
      if (entry?.value === undefined) continue;
      // Also of a key that has expired: where the log refuses the expiry, the key is there again.
      filling.sequence = Math.max(filling.sequence, entry.sequence, sequenceOf(entry));
      if (this.#lives(entry)) filling.content.add(key, entry);
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

  #lives({ expiresAt }: KeyEntry): boolean {
    const { now = Date.now } = this.options;
    return expiresAt === NO_EXPIRY || expiresAt > now();
  }
}

function sequenceOf({ value }: KeyEntry): number {
  return value instanceof Hash ? value.sequence : 0;
}

function withoutLease(): KvError {
  return new KvError('ERR_RDMC_KV_SLOT_UNAVAILABLE', 'this server does not have a lease now: ask again');
}
