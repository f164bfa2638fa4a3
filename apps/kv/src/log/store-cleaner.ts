import type { EntryLocation, LogCleaner, LogTombstone } from '@rdmc/tailwind';
import type { SegmentEntry } from '@rdmc/tailwind/format';
import type { Entry } from '../store/entry.js';
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

  /** An entry that a write without acknowledgement supersedes is live: a recovery would find only that entry. */
  isLive(entry: SegmentEntry): boolean {
    const found = decodeKey(entry.type, entry.payload)!;
    const current = this.#find(found);
    if (!current) return false;
    if (current.sequence > this.keyspace.acknowledged) return true;
    return isOf(found, current) && this.#holds(found, current);
  }

  moved(entry: SegmentEntry, _from: EntryLocation, to: EntryLocation): void {
    const found = decodeKey(entry.type, entry.payload)!;
    const current = this.#find(found);
    const holder = found.field ? fieldOf(found.field, current) : current;
    if (holder?.version !== found.version) this.#superseded(found, holder, to);
    else if (found.field) holder.locate(to);
    else this.keyspace.moved(slotOf(found.key, 0, found.key.length), latin1(found.key), current!, to);
  }

  /** Where the write that supersedes it is undone, the entry is its key's again. A write that has a place is not undone. */
  #superseded({ version }: LogKey, holder: KeyEntry | undefined, to: EntryLocation): void {
    const { acknowledged, displaced } = this.keyspace;
    const mayReturn = holder && !holder.location && holder.sequence > acknowledged;
    if (mayReturn) displaced.moved(version, to, holder.sequence, acknowledged);
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

  /** Whether the entry of the log is that of the key, or may yet be it. */
  #holds({ field, version }: LogKey, current: KeyEntry): boolean {
    if (!field) return current.version === version;
    const entry = fieldOf(field, current);
    return entry !== undefined && (entry.version === version || entry.sequence > this.keyspace.acknowledged);
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
