import { setImmediate as turn } from 'node:timers/promises';
import { anySignal, SerialQueue } from '@rdmc/common';
import type { PulledPart } from '@rdmc/tailwind';
import { KvError } from '../errors.js';
import { TAKEOVER_APPEND_BYTES, TAKEOVER_APPENDS } from '../limits.js';
import type { Hash } from '../store/hash.js';
import { decodeRecord, type KeyRecord } from '../store/record.js';
import { slotOfText } from '../store/slot.js';
import type { Store } from '../store/store.js';
import type { Floors } from './tenure.js';

/** This server's part of a dead log. */
export interface PartOfLog {
  /** Reads it from the backups, until the signal is aborted; throws its reason then. */
  readonly parts: (signal: AbortSignal) => AsyncIterable<Pick<PulledPart, 'entries'>>;
  /** The entries that count. */
  readonly tenures: Pick<Floors, 'isReplayed'>;
}

/** The latest record of a key. */
interface Found {
  readonly slot: number;
  readonly record: KeyRecord;
}

/** What has arrived of one takeover: of every key and field the latest, removals too. */
interface Import {
  readonly takeover: number;
  readonly latest: Map<string, Found>;
  /** By key, the latest record of each field. */
  readonly fields: Map<string, Map<string, KeyRecord>>;
  /** Aborted, with the reason, where it cannot be finished. */
  readonly end: AbortController;
}

/**
 * Keys of a dead server's log, which this server makes its own. They are served only when the slot table says so.
 */
export class Imports {
  readonly #imports = new Set<Import>();
  /** Finished or given up: these are not taken again. */
  readonly #over = new Set<number>();
  /** Of earlier runs of the coordinator, likewise. */
  #overBelow = 0;
  /** The coordinator may ask a second time while the first removal still waits for the log. */
  readonly #removals = new SerialQueue();

  constructor(private readonly store: Store) {}

  /**
   * Reads this server's part of a dead log, and writes it into this server's log; resolves with the number of entries when all
   * of that is durable.
   * @throws why the log cannot take it, or the entries cannot come; then the takeover has failed
   */
  async take(takeover: number, { parts, tenures }: PartOfLog, ended: AbortSignal): Promise<number> {
    if (this.#isOver(takeover)) throw failed(takeover, GIVEN_UP);
    const found = { takeover, latest: new Map(), fields: new Map(), end: new AbortController() };
    this.#imports.add(found);
    const { signal } = found.end;
    try {
      let entries = 0;
      for await (const part of parts(anySignal(ended, signal))) {
        for (const { type, payload } of part.entries()) {
          if (takeEntry(found, type, payload, tenures)) entries += 1;
        }
        signal.throwIfAborted();
      }
      await this.#write(found);
      this.#over.add(takeover);
      return entries;
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#imports.delete(found);
    }
  }

  /**
   * The entries of these slots in this log are of other tenures, and must not be served: they leave the index. Resolves with the log's
   * last version, which the entries of the takeover come after.
   */
  async floor(takeover: number, ranges: readonly (readonly [number, number])[]): Promise<number> {
    if (this.#isOver(takeover)) throw failed(takeover, GIVEN_UP);
    // Behind a removal under way, whose tombstones are of other tenures too.
    return this.#removals.run(async () => {
      await this.store.forget(ranges);
      return this.store.lastVersion;
    });
  }

  /** The takeover failed: another one begins anew, perhaps elsewhere. Resolves when nothing of it is left, durably. */
  async abandon(takeover: number, ranges: readonly (readonly [number, number])[]): Promise<void> {
    this.#over.add(takeover);
    for (const found of this.#imports) {
      if (found.takeover === takeover) this.#end(found, failed(takeover, GIVEN_UP));
    }
    await this.#remove(ranges);
  }

  /**
   * A further run of the coordinator begins. It does not know which takeovers of former runs have failed, and what they
   * left here: so none of them can end any more, and all keys in slots of others go. Resolves when that is durable.
   */
  async reset(below: number, ranges: readonly (readonly [number, number])[]): Promise<void> {
    this.#overBelow = Math.max(this.#overBelow, below);
    for (const found of this.#imports) {
      if (this.#isOver(found.takeover)) this.#end(found, failed(found.takeover, GIVEN_UP));
    }
    await this.#remove(ranges);
  }

  #isOver(takeover: number): boolean {
    return takeover < this.#overBelow || this.#over.has(takeover);
  }

  /**
   * One removal at a time. A second one finds the keys gone from the index and would end at once: its answer lets this server be
   * an heir, and the first one would remove what it gets then, or be refused by the log and leave the keys.
   */
  #remove(ranges: readonly (readonly [number, number])[]): Promise<void> {
    return this.#removals.run(() => this.#removeNow(ranges));
  }

  async #removeNow(ranges: readonly (readonly [number, number])[]): Promise<void> {
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot += 1) {
        for (const [key] of [...this.store.keyspace.entries(slot)]) {
          this.store.remove(slot, key);
          if (this.#isAppendFull) await this.#commit();
        }
      }
    }
    await this.#commit();
  }

  /**
   * Puts each value into the store, and yields behind each. The values get versions of this log's
   * own: an attempt that was given up may have left a removal of the key here, which is newer than the dead log's version
   * and would win when this log is recovered.
   */
  *#writes(found: Import): Generator<void, void> {
    for (const head of found.latest.values()) {
      const { slot, record } = head;
      const { key, value, expiresAt } = record;
      if (typeof value === 'number') yield* this.#hashWrites(found, head, value);
      else if (value !== undefined) {
        this.store.put(slot, key, value, expiresAt);
        yield;
      }
    }
  }

  /** The same for the fields of a hash that belong to its generation. Without one there is no hash. */
  *#hashWrites(found: Import, { slot, record }: Found, generation: number): Generator<void, void> {
    const { key, expiresAt } = record;
    let hash: Hash | undefined;
    for (const { field, version, value } of found.fields.get(key)?.values() ?? []) {
      if (version <= generation || typeof value !== 'string') continue;
      hash ??= this.store.putHash(slot, key, expiresAt);
      this.store.putField(hash, key, field!, value);
      yield;
    }
  }

  get #isAppendFull(): boolean {
    return this.store.batchBytes >= TAKEOVER_APPEND_BYTES;
  }

  /** Writes all of it, in several appends. */
  async #write(found: Import): Promise<void> {
    const { signal } = found.end;
    for (const { version } of recordsOf(found)) this.store.raiseVersion(version);
    const sent: Promise<void>[] = [];
    let waits = 0;
    for (const _ of this.#writes(found)) {
      // Nothing else may wait here: another takeover would commit these writes, and this one would not wait for them.
      if (!this.#isAppendFull) continue;
      sent.push(unobserved(this.#commit()));
      await turn();
      signal.throwIfAborted();
      if (sent.length - waits < TAKEOVER_APPENDS) continue;
      await sent[waits];
      waits += 1;
      signal.throwIfAborted();
    }
    sent.push(unobserved(this.#commit()));
    await Promise.all(sent);
    signal.throwIfAborted();
  }

  #end(found: Import, failure: KvError): void {
    this.#imports.delete(found);
    found.end.abort(failure);
    found.latest.clear();
    found.fields.clear();
  }

  /** Every append is waited for: the log may refuse one that waits for room, and take a later one. */
  async #commit(): Promise<void> {
    if (this.store.batchBytes === 0) return;
    const { sequence } = this.store;
    const error = this.store.commit();
    if (error) throw error;
    await this.store.whenAcknowledged(sequence);
  }
}

const GIVEN_UP = 'was given up';

/** False: the entry does not count. */
function takeEntry(
  { latest, fields }: Import,
  type: number,
  payload: Uint8Array,
  tenures: PartOfLog['tenures'],
): boolean {
  const record = decodeRecord(type, payload);
  if (!record) return false;
  const { key, field, version } = record;
  const slot = slotOfText(key);
  // Of slots that the log lost, or got again, there may be entries of other tenures.
  if (!tenures.isReplayed(slot, version)) return false;
  if (field !== undefined) takeField(fields, record, field);
  else if (!isKnown(latest.get(key)?.record, record)) latest.set(key, { slot, record });
  return true;
}

function takeField(all: Import['fields'], record: KeyRecord, field: string): void {
  let fields = all.get(record.key);
  if (!fields) {
    fields = new Map();
    all.set(record.key, fields);
  }
  if (!isKnown(fields.get(field), record)) fields.set(field, record);
}

function isKnown(known: KeyRecord | undefined, { version }: KeyRecord): boolean {
  return known !== undefined && known.version >= version;
}

function* recordsOf({ latest, fields }: Import): Generator<KeyRecord, void> {
  for (const { record } of latest.values()) yield record;
  for (const each of fields.values()) yield* each.values();
}

/** The promise, which somebody looks at later. */
function unobserved<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function failed(takeover: number, how: string): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} ${how}`);
}
