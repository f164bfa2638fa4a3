import { decodeTombstone, keyText } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { LogCleaner } from './log-cleaner.js';
import type { Segment } from './segment.js';

/**
 * Decides which tombstones of the cleaned segments must be kept.
 *
 * A tombstone prevents a recovery from taking an older object of its key for the newest. It has expired when no such
 * object is left: neither in the segment that it names nor in any other one, since objects that were overwritten do
 * not leave tombstones. Filters over the keys of each segment decide this; a false positive keeps the tombstone. Among
 * the cleaned segments an older object stays where an append to its key waits: the tombstone stays with it.
 * Appends after a tombstone are newer, so only closed segments matter.
 */
export class TombstoneRule {
  readonly #newest = new Map<string, number>();
  /** Keys with older objects that stay. */
  readonly #older = new Set<string>();

  /** @param others closed segments that stay */
  constructor(
    private readonly others: ReadonlyMap<bigint, Segment>,
    private readonly cleaner: LogCleaner,
  ) {}

  /** Must be called for every tombstone before `keeps`: only the newest of a key is needed. */
  show({ payload }: SegmentEntry): void {
    const { key, version } = decodeTombstone(payload);
    const text = keyText(key);
    if (version > (this.#newest.get(text) ?? -1)) this.#newest.set(text, version);
  }

  /** Must be called for every object of the cleaned segments that stays, before `keeps`. */
  stays(text: string, version: number): void {
    if (version < (this.#newest.get(text) ?? -1)) this.#older.add(text);
  }

  /** @param isQueued whether an append to this key waits, which may have superseded it and may yet be lost */
  keeps({ payload }: SegmentEntry, isQueued: (key: string) => boolean): boolean {
    const tombstone = decodeTombstone(payload);
    const text = keyText(tombstone.key);
    if (tombstone.version < this.#newest.get(text)!) return false;
    const isWanted = isQueued(text) || (this.cleaner.needsTombstone?.(tombstone) ?? true);
    if (!isWanted) return false;
    if (this.#older.has(text) || this.others.has(tombstone.segmentId)) return true;
    for (const { contents } of this.others.values()) if (contents.keys.mayHold(tombstone.key)) return true;
    return false;
  }
}
