import { EntryType } from '../format/layout.js';
import { decodeObject, keyText } from '../format/payloads.js';
import type { SegmentEntry } from '../format/scan.js';
import type { LogCleaner } from './log-cleaner.js';
import { Pace } from './pace.js';
import type { Segment } from './segment.js';
import { TombstoneRule } from './tombstone-rule.js';
import { WaitingKeys } from './waiting-keys.js';

/** A segment to be cleaned, and the entries to keep of it. */
export interface Kept {
  readonly segment: Segment;
  /** Offsets of the entries' headers. Numbers, since there may be a million. */
  readonly offsets: number[];
}

/** Input of a measurement. */
interface Measured {
  readonly segments: readonly Segment[];
  /** All other closed segments. */
  readonly others: ReadonlyMap<bigint, Segment>;
  /** Those of the others that may hold the newest objects of waiting keys. */
  readonly staying: readonly Segment[];
}

/**
 * Asks the application for every entry of some segments whether it is live. Dead entries can be dropped once a digest
 * does not name these segments any more: the entry that superseded a dead one is in a head older than that digest's,
 * or waits in the queue. In the second case the newest entry of the key is kept: it was acknowledged, and the waiting
 * append may be lost.
 */
export async function measure(
  { segments, others, staying }: Measured,
  queued: ReadonlySet<string>,
  cleaner: LogCleaner,
  ended: AbortSignal,
): Promise<Kept[]> {
  const pace = new Pace(ended);
  const rule = new TombstoneRule(others, cleaner);
  const hasTombstones = await showTombstones(segments, rule, pace);
  if (hasTombstones) await makeFilters(others, pace);
  const waiting = new WaitingKeys(queued);
  for (const segment of staying) {
    for (const entry of segment.contents.data()) {
      if (queued.size > 0 && entry.type === EntryType.OBJECT) waiting.note(segment, entry, true);
      if (pace.isDue) await pace.yield();
    }
  }
  const kept: Kept[] = [];
  for (const segment of segments) {
    const offsets: number[] = [];
    for (const entry of segment.contents.data()) {
      if (entry.type === EntryType.OBJECT && staysLive(segment, entry)) offsets.push(entry.offset);
      if (pace.isDue) await pace.yield();
    }
    kept.push({ segment, offsets });
  }
  for (const { segment, offset, text, version } of waiting.superseded()) {
    kept.find((one) => one.segment === segment)!.offsets.push(offset);
    rule.stays(text, version);
  }
  if (hasTombstones) await keepTombstones(kept, (entry) => rule.keeps(entry, (key) => queued.has(key)), pace);
  for (const { segment, offsets } of kept) {
    segment.contents.liveBytes = offsets.reduce((sum, offset) => sum + segment.contents.lengthAt(offset), 0);
  }
  return kept;

  function staysLive(segment: Segment, entry: SegmentEntry): boolean {
    const isLive = cleaner.isLive(entry, { segmentId: segment.id, offset: entry.offset });
    if (queued.size > 0) waiting.note(segment, entry, isLive);
    if (isLive && hasTombstones) {
      const { key, version } = decodeObject(entry.payload);
      rule.stays(keyText(key), version);
    }
    return isLive;
  }
}

/** Behind all objects: an older one that stays decides. */
async function keepTombstones(
  kept: readonly Kept[],
  keeps: (entry: SegmentEntry) => boolean,
  pace: Pace,
): Promise<void> {
  for (const { segment, offsets } of kept) {
    for (const entry of segment.contents.data()) {
      if (entry.type === EntryType.TOMBSTONE && keeps(entry)) offsets.push(entry.offset);
      if (pace.isDue) await pace.yield();
    }
  }
}

/** Number of survivors for the kept entries; entries are not divided. */
export function survivorsFor(kept: readonly Kept[], roomBytes: number): number {
  let survivors = 0;
  let left = 0;
  for (const { segment, offsets } of inOrder(kept)) {
    for (const offset of offsets) {
      const bytes = segment.contents.lengthAt(offset);
      if (bytes > left) {
        survivors += 1;
        left = roomBytes;
      }
      left -= bytes;
    }
  }
  return survivors;
}

/** Oldest segments first, so that entries of a similar age are together. */
export function inOrder(kept: readonly Kept[]): Kept[] {
  return [...kept].sort((a, b) => a.segment.writtenAt - b.segment.writtenAt);
}

async function showTombstones(
  segments: readonly Segment[],
  rule: TombstoneRule,
  pace: Pace,
): Promise<boolean> {
  let found = false;
  for (const { contents } of segments) {
    for (const entry of contents.data()) {
      if (entry.type === EntryType.TOMBSTONE) {
        rule.show(entry);
        found = true;
      }
      if (pace.isDue) await pace.yield();
    }
  }
  return found;
}

async function makeFilters(others: ReadonlyMap<bigint, Segment>, pace: Pace): Promise<void> {
  for (const { contents } of others.values()) {
    void contents.keys;
    await pace.yield();
  }
}
