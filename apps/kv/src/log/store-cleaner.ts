import type { EntryLocation, LogCleaner, LogTombstone } from '@rdmc/tailwind';
import type { SegmentEntry } from '@rdmc/tailwind/format';
import type { Entry } from '../store/entry.js';
import { fallbackOf } from '../store/fallback.js';
import type { KeyEntry } from '../store/hash.js';
import type { Keyspace } from '../store/keyspace.js';
import { decodeKey, type LogKey, latin1, splitKey } from '../store/record.js';
import { slotOf } from '../store/slot.js';

/** Answers the log's cleaner from the index of the keys. */
export class StoreCleaner implements LogCleaner {
  /** An entry that is not acknowledged does not supersede others, and so one without a place does not either. */
  readonly followsPlacement = true;

  constructor(
    private readonly keyspace: Keyspace,
    /** Tells the log that an entry is superseded. */
    private readonly dead: (location: EntryLocation) => void,
  ) {}

  /**
   * An entry that only writes without acknowledgement supersede is live: a recovery would find only that entry. Those before it are
   * not, also of a key that is written all the time.
   */
  isLive(entry: SegmentEntry): boolean {
    const found = decodeKey(entry.type, entry.payload)!;
    const current = this.#find(found);
    if (!current) return false;
    if (found.field) return this.#isFieldLive(found, latin1(found.field), current);
    return this.#covers(current, found.version);
  }

  moved(entry: SegmentEntry, _from: EntryLocation, to: EntryLocation): void {
    const found = decodeKey(entry.type, entry.payload)!;
    const current = this.#find(found);
    const holder = found.field ? fieldOf(found.field, current) : current;
    if (holder?.version !== found.version) this.#superseded(found, current, to);
    else if (found.field) holder.locate(to);
    else this.keyspace.moved(slotOf(found.key, 0, found.key.length), latin1(found.key), current!, to);
  }

  /**
   * Where the writes that supersede it are undone, the entry is its key's again. A write that has a place is not undone, and its own
   * entry is not moved before its acknowledgement: the log cleans segments that are in files.
   */
  #superseded({ field, version }: LogKey, current: KeyEntry | undefined, to: EntryLocation): void {
    const heads = current ? [current, this.#fallback(current)] : [];
    const lasts = field ? heads.flatMap((head) => fieldOf(field, head) ?? []) : heads;
    const mayReturn = lasts
      .flatMap((last) => [last, this.#fallback<unknown>(last)])
      .find((entry) => entry.version === version && !entry.stale);
    if (mayReturn) mayReturn.locate(to);
    else this.dead(to);
  }

  needsTombstone({ key: bytes, version }: LogTombstone): boolean {
    const found = splitKey(bytes, version);
    const current = this.#find(found);
    // The fields of a key that does not exist are not found by a recovery either.
    if (!current) return found.field === undefined;
    if (current.sequence > this.keyspace.acknowledged) return true;
    if (found.field) return isOf(found, current) && !this.#isNewer(fieldOf(found.field, current), version);
    return !this.#isNewer(current, version);
  }

  /** Whether an entry of the log is that of a key or field, or may yet be it. */
  #covers(current: Entry<unknown>, version: number): boolean {
    const least = this.#fallback(current).version;
    return version === least || (version > least && !this.#isAcknowledged(current));
  }

  /** As long as the head of the key is not acknowledged, what is newer than the hash before may count. */
  #isFieldLive({ version }: LogKey, field: string, current: KeyEntry): boolean {
    const isOpen = !this.#isAcknowledged(current);
    const { value: hash, version: since } = this.#fallback(current);
    if (typeof hash !== 'object') return isOpen && version > since;
    const entry = hash.get(field);
    if (!entry) return isOpen && version > hash.version;
    return this.#covers(entry, version) || (isOpen && version > entry.version);
  }

  #isAcknowledged({ sequence }: Entry<unknown>): boolean {
    return sequence <= this.keyspace.acknowledged;
  }

  #fallback<V>(entry: Entry<V>): Entry<V> {
    return fallbackOf(entry, this.keyspace.acknowledged);
  }

  /** Whether there is a newer value, which is acknowledged. */
  #isNewer(entry: KeyEntry | undefined, version: number): boolean {
    if (!entry || entry.value === undefined) return false;
    return entry.version >= version && entry.sequence <= this.keyspace.acknowledged;
  }

  #find({ key }: LogKey): KeyEntry | undefined {
    return this.keyspace.peek(slotOf(key, 0, key.length), latin1(key));
  }
}

/** Whether an entry of the log can be of what its key is now: a field of an earlier hash is not. */
function isOf({ field, version }: LogKey, { value }: KeyEntry): boolean {
  return field === undefined || (typeof value === 'object' && version > value.generation);
}

function fieldOf(field: Uint8Array, current: KeyEntry | undefined): Entry | undefined {
  return typeof current?.value === 'object' ? current.value.get(latin1(field)) : undefined;
}
