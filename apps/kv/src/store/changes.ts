import type { Entry } from './entry.js';
import { restores, settles } from './fallback.js';
import type { Hash, KeyEntry } from './hash.js';
import type { Keyspace } from './keyspace.js';

/** A key that a write changes. */
export interface KeyChange {
  readonly slot: number;
  readonly key: string;
  readonly before: KeyEntry | undefined;
  readonly after: KeyEntry;
  readonly hash?: undefined;
}

/** A field of a hash that a write changes. */
export interface FieldChange {
  readonly hash: Hash;
  readonly field: string;
  readonly before: Entry | undefined;
  readonly after: Entry;
  /** Of the hash, before the change. */
  readonly sequence: number;
  readonly version: number;
}

export type Change = KeyChange | FieldChange;

/** The change is acknowledged: the entry of a removal is not needed any more, and that of a string may be read from the log. */
export function settleChange(keyspace: Keyspace, change: Change): void {
  if (!change.hash) {
    keyspace.settle(change.slot, change.key, change.after);
    return;
  }
  const { hash, field, after } = change;
  const current = hash.get(field);
  settles(after, current, keyspace.acknowledged);
  if (after.value === undefined && current === after) hash.delete(field);
}

/** The change did not happen. Changes are undone in the opposite of their order. */
export function undoChange(keyspace: Keyspace, change: Change): void {
  if (change.hash) {
    undoField(keyspace, change);
    return;
  }
  keyspace.restore(change.slot, change.key, kept(keyspace, change.before));
}

function undoField(keyspace: Keyspace, change: FieldChange): void {
  const { hash, field, sequence, version } = change;
  const before = kept(keyspace, change.before);
  if (before) {
    restores(before, hash.get(field), keyspace.acknowledged);
    hash.set(field, before);
  } else hash.delete(field);
  hash.sequence = sequence;
  hash.version = version;
}

/** The entry before a change; undefined where it is that of a removal which is acknowledged by now. */
function kept<E extends KeyEntry>({ acknowledged }: Keyspace, before: E | undefined): E | undefined {
  if (!before || (before.value === undefined && before.sequence <= acknowledged)) return undefined;
  return before;
}
