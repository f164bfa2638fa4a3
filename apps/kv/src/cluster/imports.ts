import type { Buffer } from 'node:buffer';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { anySignal, SerialQueue } from '@rdmc/common';
import type { PulledPart } from '@rdmc/tailwind';
import { KvError } from '../errors.js';
import {
  TAKEOVER_APPEND_BYTES,
  TAKEOVER_APPENDS,
  UNPACK_DELAY_MS,
  UNPACK_REST,
  UNPACK_STEP_MS,
} from '../limits.js';
import type { Adopted } from '../store/adopted.js';
import type { Hash } from '../store/hash.js';
import {
  decodeRecord,
  entryEnd,
  HEADER_BYTES,
  type KeyRecord,
  kindOf,
  NO_BYTES,
  readKeyPlace,
} from '../store/record.js';
import { slotOf, slotOfText } from '../store/slot.js';
import type { Store } from '../store/store.js';
import { type EntryPlace, LatestEntries } from './latest-entries.js';
import { PartMemory } from './part-memory.js';
import type { Floors } from './tenure.js';

/** This server's part of a dead log. */
export interface PartOfLog {
  /** Reads it from the backups into that memory, until the signal is aborted; throws its reason then. */
  readonly parts: (signal: AbortSignal, memory: PartMemory) => AsyncIterable<Pick<PulledPart, 'bytes'>>;
  /** The entries that count. */
  readonly tenures: Pick<Floors, 'isReplayed'>;
}

/** What has arrived of one takeover: of every key and field the latest, removals too. */
interface Import {
  readonly takeover: number;
  readonly latest: LatestEntries;
  /** By key, the latest record of each field. */
  readonly fields: Map<string, Map<string, KeyRecord>>;
  /** The highest version of an entry that counts. */
  lastVersion: number;
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
  #isUnpacking = false;
  /** Of a takeover that ended before any of its keys was written; until the garbage collector frees it. */
  #spare: WeakRef<PartMemory> | undefined;
  /** Of a takeover that failed in its writes, likewise: the log may still read it, so it is not used again. */
  #left: WeakRef<PartMemory> | undefined;

  constructor(private readonly store: Store) {}

  /**
   * Reads this server's part of a dead log, and writes it into this server's log; resolves with the number of entries when all
   * of that is durable.
   * @throws why the log cannot take it, or the entries cannot come; then the takeover has failed
   */
  async take(takeover: number, { parts, tenures }: PartOfLog, ended: AbortSignal): Promise<number> {
    if (this.#isOver(takeover)) throw failed(takeover, GIVEN_UP);
    const found = {
      takeover,
      latest: new LatestEntries(),
      fields: new Map(),
      lastVersion: 0,
      end: new AbortController(),
    };
    this.#imports.add(found);
    const { signal } = found.end;
    const memory = this.#takeMemory();
    let isUsed = false;
    try {
      let entries = 0;
      for await (const part of parts(anySignal(ended, signal), memory)) {
        entries += takePart(found, part.bytes, tenures);
        signal.throwIfAborted();
      }
      isUsed = true;
      await this.#write(found);
      this.#over.add(takeover);
      return entries;
    } catch (error) {
      if (isUsed && !memory.isCounted) this.#left = new WeakRef(memory);
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#imports.delete(found);
      if (!isUsed) this.#giveMemory(memory);
      void this.#unpackLater();
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

  /**
   * A takeover that the log refuses is repeated, and each attempt would leave memory that V8 does not count. While the memory of
   * one attempt is there, the next ones get memory that V8 counts, so that it frees both.
   */
  #takeMemory(): PartMemory {
    const memory = this.#spare?.deref() ?? new PartMemory(this.#left?.deref() !== undefined);
    this.#spare = undefined;
    return memory;
  }

  /** The next attempt reads into it. A read of this one that comes late gets a piece that nobody else has. */
  #giveMemory(memory: PartMemory): void {
    memory.reset();
    this.#spare = new WeakRef(memory);
  }

  /** Keys that nobody has asked for are in memory twice, in the log and in the bytes that it came from: that must end. */
  async #unpackLater(): Promise<void> {
    if (this.#isUnpacking) return;
    this.#isUnpacking = true;
    const { keyspace, ended } = this.store;
    for (let restMs = UNPACK_DELAY_MS; keyspace.packed > 0 && !ended.aborted; ) {
      await delay(restMs, undefined, { ref: false });
      const began = performance.now();
      while (keyspace.unpackOne() && performance.now() - began < UNPACK_STEP_MS);
      restMs = UNPACK_REST * (performance.now() - began);
    }
    this.#isUnpacking = false;
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
    // Removals may be on their way: those of others, and those of an attempt that failed with a write before them. If the log refuses
    // them their keys are back.
    await this.store.settled();
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot += 1) {
        for (const key of [...this.store.keyspace.keys(slot)]) {
          this.store.remove(slot, key);
          if (this.#isAppendFull) await this.#commit();
        }
      }
    }
    await this.#commit();
  }

  /**
   * Puts each value into the store, in several appends. The values get versions of this log's own: an attempt that was given up
   * may have left a removal of the key here, which is newer than the dead log's version and would win when this log is recovered.
   */
  *#appends(found: Import): Generator<Promise<void>, void> {
    const { latest } = found;
    const origin = Symbol(found.takeover);
    const place = emptyPlace();
    const hashes: EntryPlace[] = [];
    let position = 0;
    /** Takes strings over until an append is full; a larger one is alone in its append. */
    const fill = (adopted: Adopted): void => {
      const most = Math.min(TAKEOVER_APPEND_BYTES, adopted.maxBytes);
      for (; position < latest.count; position += 1) {
        if (!latest.read(position, place)) continue;
        const kind = kindOf(place);
        if (kind === 'hash') hashes.push({ ...place });
        if (kind !== 'string') continue;
        if (adopted.bytes > 0 && adopted.bytes + place.end - place.at > most) return;
        adopted.add(place.slot, place);
      }
    };
    while (position < latest.count) yield this.store.adopt(origin, fill);
    for (const head of hashes) {
      for (const _ of this.#hashWrites(found, head)) if (this.#isAppendFull) yield this.#commit();
    }
    yield this.#commit();
  }

  /** Puts the fields of a hash that belong to its generation. Without one there is no hash. Yields behind each. */
  *#hashWrites(found: Import, head: EntryPlace): Generator<void, void> {
    const { key, value: generation, expiresAt } = recordAt(head);
    let hash: Hash | undefined;
    for (const { field, version, value } of found.fields.get(key)?.values() ?? []) {
      if (version <= Number(generation) || typeof value !== 'string') continue;
      hash ??= this.store.putHash(head.slot, key, expiresAt);
      this.store.putField(hash, key, field!, value);
      yield;
    }
  }

  get #isAppendFull(): boolean {
    return this.store.batchBytes >= TAKEOVER_APPEND_BYTES;
  }

  /** Writes all of it. */
  async #write(found: Import): Promise<void> {
    const { signal } = found.end;
    this.store.raiseVersion(found.lastVersion);
    const sent: Promise<void>[] = [];
    let waits = 0;
    // Nothing waits here between the writes of an append: another takeover would commit these, and this one would not wait for them.
    for (const append of this.#appends(found)) {
      sent.push(unobserved(append));
      await turn();
      signal.throwIfAborted();
      if (sent.length - waits < TAKEOVER_APPENDS) continue;
      await sent[waits];
      waits += 1;
      signal.throwIfAborted();
    }
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
    const { lastSequence } = this.store;
    const error = this.store.commit();
    if (error) throw error;
    await this.store.whenAcknowledged(lastSequence);
  }
}

const GIVEN_UP = 'was given up';

/** Returns the number of entries that count. */
function takePart(found: Import, bytes: Buffer, tenures: PartOfLog['tenures']): number {
  const place = emptyPlace();
  let entries = 0;
  for (let at = 0; at < bytes.length; at = place.end) {
    place.bytes = bytes;
    place.at = at;
    place.end = entryEnd(bytes, at);
    if (readKeyPlace(place)) {
      place.slot = slotOf(bytes, place.keyStart, place.keyEnd);
      entries += takeEntry(found, place, tenures);
    } else entries += takeField(found, place, tenures);
  }
  return entries;
}

function takeEntry(found: Import, place: EntryPlace, tenures: PartOfLog['tenures']): number {
  const { slot, version } = place;
  // Of slots that the log lost, or got again, there may be entries of other tenures.
  if (!tenures.isReplayed(slot, version)) return 0;
  if (version > found.lastVersion) found.lastVersion = version;
  found.latest.add(place);
  return 1;
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
function takeField(found: Import, place: EntryPlace, tenures: PartOfLog['tenures']): number {
  const record = decodeRecord(place.bytes[place.at]!, payloadOf(place));
  if (record?.field === undefined) return 0;
  const { key, field, version } = record;
  if (!tenures.isReplayed(slotOfText(key), version)) return 0;
  if (version > found.lastVersion) found.lastVersion = version;
  let fields = found.fields.get(key);
  if (!fields) {
    fields = new Map();
    found.fields.set(key, fields);
  }
  const known = fields.get(field);
  if (!known || known.version < version) fields.set(field, record);
  return 1;
}

/** @throws TailwindError ERR_RDMC_ENTRY_DAMAGED */
function recordAt(place: EntryPlace): KeyRecord {
  return decodeRecord(place.bytes[place.at]!, payloadOf(place))!;
}

function payloadOf({ bytes, at, end }: EntryPlace): Buffer {
  return bytes.subarray(at + HEADER_BYTES, end);
}

function emptyPlace(): EntryPlace {
  return { bytes: NO_BYTES, at: 0, end: 0, keyStart: 0, keyEnd: 0, version: 0, slot: 0 };
}

/** The promise, which somebody looks at later. */
function unobserved<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function failed(takeover: number, how: string): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} ${how}`);
}
