import { EntryType } from '../format/layout.js';
import type { SegmentEntry } from '../format/scan.js';
import type { LogCleaner } from './log-cleaner.js';
import { Pace } from './pace.js';
import type { Segment } from './segment.js';
import { TombstoneRule } from './tombstone-rule.js';
import { WaitingKeys } from './waiting-keys.js';

/** What is kept of a segment that is cleaned. */
export interface Kept {
  readonly segment: Segment;
  /** Of the entries' headers. Numbers, since there may be a million. */
  readonly offsets: number[];
}

/** What a measurement looks at. */
interface Measured {
  readonly segments: readonly Segment[];
  /** All other closed ones. */
  readonly others: ReadonlyMap<bigint, Segment>;
  /** Those of the others whose objects stand for keys that wait. */
  readonly staying: readonly Segment[];
}

/**
 * Asks for every entry of some segments whether it is live. What it says is dead can be dropped once a digest leaves
 * these segments out: what superseded an entry lies in an older head than that digest's, or waits in the queue, and
 * then the newest entry of its key is kept, since the append that waits may be lost while this one was acknowledged.
 */
export async function measure(
  { segments, others, staying }: Measured,
  queued: ReadonlySet<string>,
  cleaner: LogCleaner,
  ended: AbortSignal,
): Promise<Kept[]> {
  const pace = new Pace(ended);
  const rule = new TombstoneRule(others, cleaner);
  if (await showTombstones(segments, rule, pace)) await makeFilters(others, pace);
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
      if (isKept(segment, entry)) offsets.push(entry.offset);
      if (pace.isDue) await pace.yield();
    }
    kept.push({ segment, offsets });
  }
  for (const { segment, offset } of waiting.superseded()) {
    kept.find((one) => one.segment === segment)!.offsets.push(offset);
  }
  for (const { segment, offsets } of kept) {
    segment.contents.liveBytes = offsets.reduce((sum, offset) => sum + segment.contents.lengthAt(offset), 0);
  }
  return kept;

  function isKept(segment: Segment, entry: SegmentEntry): boolean {
    if (entry.type === EntryType.TOMBSTONE) return rule.keeps(entry, (key) => queued.has(key));
    const isLive = cleaner.isLive(entry, { segmentId: segment.id, offset: entry.offset });
    if (queued.size > 0) waiting.note(segment, entry, isLive);
    return isLive;
  }
}

/** How many survivors take what is kept: entries are not divided. */
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

/** Old data first: what has lived long lies together. */
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
