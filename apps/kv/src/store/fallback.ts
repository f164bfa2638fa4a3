/*
 * What keys, and fields of hashes, are if the log refuses their last writes.
 *
 *   key ─▶ C ──▶ B ──▶ A ──▶ E        C, B, A: writes that are not acknowledged; E: the last one that is
 *          └─────┴─────┴───▶ fallback
 *
 * The cleaner asks for E with each earlier entry of a key that it finds in the log, so C does not find it by B and A, of which there
 * may be many.
 */
import type { Entry } from './entry.js';

/**
 * The acknowledged entry that a key has if all later writes are refused: the entry itself where it is acknowledged. Where the key
 * was not there before, its first entry.
 */
export function fallbackOf<V>(entry: Entry<V>, acknowledged: number): Entry<V> {
  return entry.sequence <= acknowledged ? entry : (entry.fallback ?? entry);
}

/** A write that is not acknowledged supersedes an entry. */
export function supersedes<V>(after: Entry<V>, before: Entry<V> | undefined, acknowledged: number): void {
  if (before) after.fallback = fallbackOf(before, acknowledged);
}

/** The write of `undone` did not happen. */
export function restores<V>(before: Entry<V>, undone: Entry<V> | undefined, acknowledged: number): void {
  // Since the write of `before`, an earlier one may have been acknowledged: the later write knows that.
  const fallback = undone?.fallback;
  if (before.sequence > acknowledged && fallback && fallback !== before) before.fallback = fallback;
}

/** The write of an entry is acknowledged. `current`: the entry that the key has now. */
export function settles<V>(after: Entry<V>, current: Entry<V> | undefined, acknowledged: number): void {
  after.fallback = undefined;
  if (current && current !== after && current.sequence > acknowledged) current.fallback = after;
}
