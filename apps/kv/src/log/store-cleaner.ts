import { Buffer } from 'node:buffer';
import type { EntryLocation, LogCleaner, LogTombstone } from '@rdmc/tailwind';
import type { SegmentEntry } from '@rdmc/tailwind/format';
import type { Entry } from '../store/entry.js';
import type { Keyspace } from '../store/keyspace.js';
import { decodeKey } from '../store/record.js';
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
    const { key, keyBytes, version } = decodeKey(entry.payload);
    const current = this.#find(key, keyBytes);
    if (!current) return false;
    return current.version === version || current.sequence > this.keyspace.acknowledged;
  }

  moved(entry: SegmentEntry, _from: EntryLocation, to: EntryLocation): void {
    const { key, keyBytes, version } = decodeKey(entry.payload);
    const current = this.#find(key, keyBytes);
    if (current?.version === version) current.location = to;
    else this.dead(to);
  }

  needsTombstone({ key, version }: LogTombstone): boolean {
    const current = this.#find(Buffer.from(key).toString('latin1'), key);
    if (!current || current.value === undefined) return true;
    return current.version < version || current.sequence > this.keyspace.acknowledged;
  }

  #find(key: string, bytes: Uint8Array): Entry | undefined {
    return this.keyspace.get(slotOf(bytes, 0, bytes.length), key);
  }
}
