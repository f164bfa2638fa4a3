import type { EntryLocation } from '@rdmc/tailwind';
import { MAX_INDEXED_BYTES, SLOTS } from '../limits.js';
import { Entry, NO_EXPIRY } from './entry.js';
import type { KeyEntry } from './hash.js';
import { IndexRecords, NONE } from './index-records.js';
import { KeyHash } from './key-hash.js';
import { LogMemory, type LogWithMemory } from './log-memory.js';
import { entryEnd, type KeyPlace, NO_BYTES, readKeyPlace, readString } from './record.js';

const FIRST_BUCKETS = 4;
const HASHES = 2 ** 32;
/** The append of entries that are made here: it is acknowledged. Those of all others have higher numbers. */
export const EARLIER = 0;

/**
 * Strings without an expiry whose writes are acknowledged. Only their places are kept, outside of the heap; keys and values are read
 * from the log's memory. So the garbage collector has nothing to mark, however many keys there are (RAMCloud: J. Ousterhout et al.,
 * "The RAMCloud Storage System", ACM TOCS 2015, the hash table).
 *
 * The places must be right: before the log frees a segment, `move` or `take` has been called for each of its entries.
 *
 * ```
 * slot ─▶ buckets: u32 each, the first record; chosen by the upper bits of the hash
 *             └─▶ record ─▶ record ─▶ …        `IndexRecords`
 * ```
 *
 * A slot has at most as many keys as buckets. Since the upper bits of the hash choose, keys are in the same order whatever the
 * number of buckets.
 */
export class LogIndex {
  readonly #memory: LogMemory;
  readonly #records = new IndexRecords();
  readonly #buckets: (Uint32Array | undefined)[] = new Array(SLOTS).fill(undefined);
  readonly #counts = new Uint32Array(SLOTS);
  #bucketBytes = 0;
  /** The key that is looked for. */
  readonly #key = new Uint8Array(MAX_INDEXED_BYTES);
  /** The entry that was looked at last. */
  readonly #place: KeyPlace = { bytes: NO_BYTES, at: 0, end: 0, keyStart: 0, keyEnd: 0, version: 0 };

  constructor(
    log: LogWithMemory,
    private readonly hash: Pick<KeyHash, 'of'> = new KeyHash(),
  ) {
    this.#memory = new LogMemory(log);
  }

  /** Number of keys, of all slots. */
  get size(): number {
    return this.#records.count;
  }

  /** Memory of records and buckets, outside of the heap. */
  get bytes(): number {
    return this.#records.bytes + this.#bucketBytes;
  }

  has(slot: number): boolean {
    return this.#counts[slot] !== 0;
  }

  /**
   * A new entry with each call: it does not change when the key does.
   * @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE: the log has ended. So do all methods that look at keys
   */
  get(slot: number, key: string): KeyEntry | undefined {
    const record = this.#find(slot, key);
    return record === NONE ? undefined : this.#entry(record);
  }

  /** The same with an empty text for a value. */
  peek(slot: number, key: string): KeyEntry | undefined {
    const record = this.#find(slot, key);
    return record === NONE ? undefined : this.#entryOf(record, '', NO_EXPIRY);
  }

  /** Adds a key that the slot does not have. Returns false, and does nothing, where the log does not have the place in memory. */
  add(slot: number, key: string, location: EntryLocation): boolean {
    return key.length <= this.#key.length && this.#add(slot, this.#hashOf(key), location);
  }

  /** The same for a key in the bytes of an entry. */
  addPlace(slot: number, { bytes, keyStart, keyEnd }: Readonly<KeyPlace>, location: EntryLocation): boolean {
    return this.#add(slot, this.hash.of(bytes, keyStart, keyEnd), location);
  }

  /** Takes a key out, and returns its entry as `peek`. */
  take(slot: number, key: string): KeyEntry | undefined {
    const record = this.#find(slot, key);
    if (record === NONE) return undefined;
    const entry = this.#entryOf(record, '', NO_EXPIRY);
    this.#remove(slot, record);
    return entry;
  }

  /** The entry of a key that is here has another place. */
  move(slot: number, key: string, { segmentId, offset }: EntryLocation): void {
    const record = this.#find(slot, key);
    const segment = record === NONE ? undefined : this.#memory.hold(segmentId);
    if (segment === undefined) throw new Error(`no place in segment ${segmentId} for a key of slot ${slot}`);
    this.#memory.release(this.#records.segment(record));
    this.#records.setPlace(record, segment, offset);
  }

  /**
   * The keys of a slot, in the order of their hashes. Keys may be added and taken meanwhile; each other key comes once. Each
   * key and its entry are those of a moment before: several are read at once.
   */
  entries(slot: number): Generator<[string, KeyEntry], void> {
    return this.#each(slot, (record) => [this.#keyText(), this.#entry(record)]);
  }

  /** The same without the entries. */
  keys(slot: number): Generator<string, void> {
    return this.#each(slot, () => this.#keyText());
  }

  /** What `read` returns for each record of a slot; the record was looked at. */
  *#each<T>(slot: number, read: (record: number) => T): Generator<T, void> {
    for (let hash = 0; hash < HASHES; ) {
      this.#memory.assertOpen();
      const buckets = this.#buckets[slot];
      if (!buckets) return;
      // In a plain loop: where most keys were taken, most buckets are empty.
      let bucket = bucketOf(buckets, hash);
      while (bucket < buckets.length && buckets[bucket] === NONE) bucket += 1;
      if (bucket === buckets.length) return;
      const found: T[] = [];
      for (let record = buckets[bucket]!; record !== NONE; record = this.#records.next(record)) {
        this.#look(record);
        found.push(read(record));
      }
      hash = (bucket + 1) * (HASHES / buckets.length);
      yield* found;
    }
  }

  #add(slot: number, hash: number, { segmentId, offset }: EntryLocation): boolean {
    const segment = this.#memory.hold(segmentId);
    if (segment === undefined) return false;
    const buckets = this.#roomFor(slot);
    const bucket = bucketOf(buckets, hash);
    buckets[bucket] = this.#records.add(buckets[bucket]!, hash, segment, offset);
    this.#counts[slot]! += 1;
    return true;
  }

  #remove(slot: number, record: number): void {
    const buckets = this.#buckets[slot]!;
    const bucket = bucketOf(buckets, this.#records.hash(record));
    const next = this.#records.next(record);
    if (buckets[bucket] === record) buckets[bucket] = next;
    else this.#records.setNext(this.#before(buckets[bucket]!, record), next);
    this.#memory.release(this.#records.segment(record));
    this.#records.remove(record);
    this.#counts[slot]! -= 1;
    // The few of a slot with few keys stay: such a key may come and go with each write.
    if (this.#counts[slot] === 0 && buckets.length > FIRST_BUCKETS) this.#setBuckets(slot, undefined);
  }

  #before(first: number, record: number): number {
    let before = first;
    while (this.#records.next(before) !== record) before = this.#records.next(before);
    return before;
  }

  #find(slot: number, key: string): number {
    this.#memory.assertOpen();
    const buckets = this.#buckets[slot];
    if (!buckets || key.length > this.#key.length) return NONE;
    const hash = this.#hashOf(key);
    let record = buckets[bucketOf(buckets, hash)]!;
    while (record !== NONE && !(this.#records.hash(record) === hash && this.#isOf(record, key.length)))
      record = this.#records.next(record);
    return record;
  }

  /** Whether it is of the key that was hashed last. */
  #isOf(record: number, length: number): boolean {
    this.#look(record);
    const { bytes, keyStart, keyEnd } = this.#place;
    if (keyEnd - keyStart !== length) return false;
    for (let at = 0; at < length; at += 1) if (bytes[keyStart + at] !== this.#key[at]) return false;
    return true;
  }

  /** Reads the place of the entry. */
  #look(record: number): void {
    const place = this.#place;
    place.bytes = this.#memory.bytes(this.#records.segment(record));
    place.at = this.#records.offset(record);
    place.end = entryEnd(place.bytes, place.at);
    readKeyPlace(place);
  }

  /** Of the record that was looked at last. */
  #entry(record: number): KeyEntry {
    const { value, expiresAt } = readString(this.#place);
    return this.#entryOf(record, value, expiresAt);
  }

  #entryOf(record: number, value: string, expiresAt: number): KeyEntry {
    const entry: KeyEntry = new Entry(value, this.#place.version, expiresAt, EARLIER);
    entry.segmentId = this.#memory.id(this.#records.segment(record));
    entry.offset = this.#place.at;
    return entry;
  }

  #keyText(): string {
    const { bytes, keyStart, keyEnd } = this.#place;
    return bytes.toString('latin1', keyStart, keyEnd);
  }

  #hashOf(key: string): number {
    const { length } = key;
    for (let at = 0; at < length; at += 1) this.#key[at] = key.charCodeAt(at);
    return this.hash.of(this.#key, 0, length);
  }

  /** The buckets of a slot that gets one key more. */
  #roomFor(slot: number): Uint32Array {
    const before = this.#buckets[slot];
    if (before && this.#counts[slot]! < before.length) return before;
    const buckets = new Uint32Array(before ? 2 * before.length : FIRST_BUCKETS);
    for (const first of before ?? []) {
      for (let record = first; record !== NONE; ) {
        const next = this.#records.next(record);
        const bucket = bucketOf(buckets, this.#records.hash(record));
        this.#records.setNext(record, buckets[bucket]!);
        buckets[bucket] = record;
        record = next;
      }
    }
    this.#setBuckets(slot, buckets);
    return buckets;
  }

  #setBuckets(slot: number, buckets: Uint32Array | undefined): void {
    this.#bucketBytes += (buckets?.byteLength ?? 0) - (this.#buckets[slot]?.byteLength ?? 0);
    this.#buckets[slot] = buckets;
  }
}

/** By the upper bits; the number of buckets is a power of two. */
function bucketOf(buckets: Uint32Array, hash: number): number {
  return hash >>> (Math.clz32(buckets.length) + 1);
}
