import { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { Deferred, SerialQueue, within } from '@rdmc/common';
import { KvError } from '../errors.js';
import { TAKEOVER_FRAME_BYTES } from '../limits.js';
import type { Hash } from '../store/hash.js';
import { decodeRecord, type KeyRecord } from '../store/record.js';
import { slotOf } from '../store/slot.js';
import type { Store } from '../store/store.js';
import { recordsIn } from './peer-frames.js';

/** The session of frames that the server which recovers the log hands to itself. */
export const OWN_SESSION = 'own';

/** What all of a takeover's frames for this server are: so many, on one connection. */
export interface ImportedFrames {
  readonly takeover: number;
  readonly frames: number;
  readonly session: string;
}

/** What arrived of one takeover on one connection: of every key and field the latest, removals too. */
interface Import {
  readonly takeover: number;
  readonly session: string;
  frames: number;
  readonly latest: Map<string, KeyRecord & { slot: number }>;
  /** By key, the latest record of each field. */
  readonly fields: Map<string, Map<string, KeyRecord>>;
  /** All frames are here: the connection may end. */
  isComplete: boolean;
  /** Why it cannot be finished. */
  failure: KvError | undefined;
  changed: () => void;
}

/**
 * Keys of a dead server's log, which this server makes its own. They are served only when the slot table says so. Only
 * frames on the connection that the recovering server names count: what strangers send adds nothing.
 */
export class Imports {
  readonly #imports = new Set<Import>();
  /** Finished or given up: what still comes of them is not kept. */
  readonly #over = new Set<number>();
  /** Of earlier runs of the coordinator, likewise. */
  #overBelow = 0;
  /** The coordinator may ask a second time while the first removal still waits for the log. */
  readonly #removals = new SerialQueue();

  constructor(private readonly store: Store) {}

  /** A frame of entries, in the log's order or any other. @throws KvError, TailwindError for what is none */
  take(frame: Buffer, session: string): void {
    const takeover = frame.readUInt32LE(0);
    if (this.#isOver(takeover)) return;
    const found = this.#of(takeover, session);
    for (const { type, payload } of recordsIn(frame)) {
      const record = decodeRecord(type, payload);
      if (record?.field !== undefined) takeField(found.fields, record, record.field);
      else if (record) takeKey(found.latest, record);
    }
    found.frames += 1;
    found.changed();
  }

  /** A connection ended: a takeover whose frames are not all here cannot end any more. */
  sessionEnded(session: string): void {
    for (const found of this.#imports) {
      if (found.session !== session || found.isComplete) continue;
      this.#end(found, failed(found.takeover, 'failed: the connection that it came on broke'));
    }
  }

  /**
   * Waits for all frames, and writes what they hold into this server's log; resolves when that is durable.
   * @throws why the log cannot take it, or the frames cannot come; then the takeover has failed
   */
  async finish({ takeover, frames, session }: ImportedFrames, signal: AbortSignal): Promise<number> {
    if (this.#isOver(takeover)) throw failed(takeover, GIVEN_UP);
    const found = this.#of(takeover, session);
    while (found.frames < frames) await changeOf(found, signal);
    found.isComplete = true;
    let count = 0;
    for (const { version } of recordsOf(found)) this.store.raiseVersion(version);
    for (const keys of this.#writes(found)) {
      count += keys;
      // Nothing else may wait here: another takeover would commit these writes, and this one would not wait for them.
      if (this.#isFrameFull) await this.#yield(found);
    }
    await this.#commit();
    if (found.failure) throw found.failure;
    this.#over.add(takeover);
    for (const each of this.#imports) if (each.takeover === takeover) this.#imports.delete(each);
    return count;
  }

  /**
   * What this log has of these slots is of other tenures, and must not be served: it leaves the index. Resolves with the log's
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
          if (this.#isFrameFull) await this.#commit();
        }
      }
    }
    await this.#commit();
  }

  /**
   * Puts each value into the store, and yields the number of keys that began with it. The values get versions of this log's
   * own: an attempt that was given up may have left a removal of the key here, which is newer than the dead log's version
   * and would win when this log is recovered.
   */
  *#writes(found: Import): Generator<number, void> {
    for (const record of found.latest.values()) {
      const { slot, key, value, expiresAt } = record;
      if (typeof value === 'number') yield* this.#hashWrites(found, record, value);
      else if (value !== undefined) {
        this.store.put(slot, key, value, expiresAt);
        yield 1;
      }
    }
  }

  /** The same for the fields of a hash that belong to its generation. Without one there is no hash. */
  *#hashWrites(
    found: Import,
    head: KeyRecord & { slot: number },
    generation: number,
  ): Generator<number, void> {
    let hash: Hash | undefined;
    for (const { field, version, value } of found.fields.get(head.key)?.values() ?? []) {
      if (version <= generation || typeof value !== 'string') continue;
      const isNew = hash === undefined;
      hash ??= this.store.putHash(head.slot, head.key, head.expiresAt);
      this.store.putField(hash, head.key, field!, value);
      yield isNew ? 1 : 0;
    }
  }

  get #isFrameFull(): boolean {
    return this.store.batchBytes >= TAKEOVER_FRAME_BYTES;
  }

  /** Sends the writes so far to the log, and lets others have a turn. */
  async #yield(found: Import): Promise<void> {
    await this.#commit();
    await turn();
    if (found.failure) throw found.failure;
  }

  #of(takeover: number, session: string): Import {
    for (const found of this.#imports) {
      if (found.takeover === takeover && found.session === session) return found;
    }
    const begun: Import = {
      takeover,
      session,
      frames: 0,
      latest: new Map(),
      fields: new Map(),
      isComplete: false,
      failure: undefined,
      changed: () => {},
    };
    this.#imports.add(begun);
    return begun;
  }

  #end(found: Import, failure: KvError): void {
    this.#imports.delete(found);
    found.failure = failure;
    found.latest.clear();
    found.fields.clear();
    found.changed();
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

function takeKey(latest: Import['latest'], record: KeyRecord): void {
  if (isKnown(latest.get(record.key), record)) return;
  const bytes = Buffer.from(record.key, 'latin1');
  latest.set(record.key, { ...record, slot: slotOf(bytes, 0, bytes.length) });
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
  yield* latest.values();
  for (const each of fields.values()) yield* each.values();
}

/** @throws why there is no more to come of it; the signal's reason */
async function changeOf(found: Import, signal: AbortSignal): Promise<void> {
  if (found.failure) throw found.failure;
  signal.throwIfAborted();
  const changed = new Deferred<void>();
  found.changed = changed.resolve;
  await within(changed.promise, { signal });
  if (found.failure) throw found.failure;
}

function failed(takeover: number, how: string): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} ${how}`);
}
