import type { PlannedSegment, RecoveryPlan } from './plan.js';

/** A range of slots, both ends included. A slot is the number that the application's divider gives an entry. */
export type SlotRange = readonly [from: number, to: number];

/** The part of a dead log that one heir gets. */
export interface HeirShare {
  /** The heir. */
  readonly member: number;
  /** Entries in these slots are its part. No slot is in two shares. */
  readonly ranges: readonly SlotRange[];
}

/** A segment, and the backups to ask for parts of it. */
export interface DividedSegment {
  /** The segment. */
  readonly segmentId: bigint;
  /** Exactly this prefix counts, in bytes: a backup with another one refuses. */
  readonly byteLength: number;
  /** The running checksum at the end of the prefix; null after an accepted loss, where only the length is known. */
  readonly checksum: number | null;
  /** Members to ask, in this order: the next one where one fails. */
  readonly sources: readonly number[];
}

/** What every heir of one attempt to recover a log pulls: the same segments, and of each its own part. */
export interface Division {
  /** The dead log. */
  readonly logId: bigint;
  /** The attempt, as the coordinator counts it. Backups serve the parts of the last one only. */
  readonly attempt: number;
  /** By ascending id: all segments that make up the log. */
  readonly segments: readonly DividedSegment[];
}

/**
 * Chooses the backup that serves each segment: the one with the fewest bytes so far among those with a usable replica,
 * large segments first. So each segment is scanned once, and the scans are spread evenly. Pure.
 * @returns by ascending id
 */
export function planSources({ segments }: Pick<RecoveryPlan, 'segments'>): DividedSegment[] {
  const bytes = new Map<number, number>();
  const of = (member: number): number => bytes.get(member) ?? 0;
  const chosen = new Map<bigint, DividedSegment>();
  const bySize = [...segments].sort((a, b) => b.floorBytes - a.floorBytes || byId(a, b));
  for (const { segmentId, floorBytes, checksum, candidates } of bySize) {
    // Equal ones are taken in turn, so that the next choices do not all fall back on the same one.
    const turn = Number(segmentId % BigInt(Math.max(1, candidates.length)));
    const turned = [...candidates.slice(turn), ...candidates.slice(0, turn)];
    const sources = turned.sort((a, b) => of(a) - of(b));
    if (sources.length > 0) bytes.set(sources[0]!, of(sources[0]!) + floorBytes);
    chosen.set(segmentId, { segmentId, byteLength: floorBytes, checksum, sources });
  }
  return segments.map(({ segmentId }) => chosen.get(segmentId)!);
}

/**
 * Cuts a list of slots into one part for each heir, of the same number of slots up to one; heirs without a slot are
 * left out. Pure.
 */
export function planShares<Heir>(
  slots: readonly number[],
  heirs: readonly Heir[],
): { readonly heir: Heir; readonly slots: readonly number[] }[] {
  const cut = (index: number): number => Math.floor((slots.length * index) / heirs.length);
  return heirs
    .map((heir, index) => ({ heir, slots: slots.slice(cut(index), cut(index + 1)) }))
    .filter((share) => share.slots.length > 0);
}

/** What one member does for a recovery, in bytes of the dead log. */
export interface RecoveryWork {
  /** Read and scanned, as a backup. */
  readonly scanned: number;
  /** Of these, sent to heirs. */
  readonly served: number;
  /** Pulled, replayed and appended to its own log, as an heir. */
  readonly pulled: number;
}

/**
 * The work of each member, where the entries are spread evenly over the slots and no source fails. Pure: for simulators, and
 * to check that no member has much more than the others.
 */
export function workOf(
  segments: readonly DividedSegment[],
  shares: readonly HeirShare[],
): Map<number, RecoveryWork> {
  const work = new Map<number, { scanned: number; served: number; pulled: number }>();
  const of = (member: number) => {
    const found = work.get(member) ?? { scanned: 0, served: 0, pulled: 0 };
    work.set(member, found);
    return found;
  };
  const sizes = shares.map(({ ranges }) => ranges.reduce((sum, [from, to]) => sum + to - from + 1, 0));
  const slots = sizes.reduce((sum, size) => sum + size, 0);
  for (const { byteLength, sources } of segments) {
    if (sources.length === 0) continue;
    const source = of(sources[0]!);
    source.scanned += byteLength;
    shares.forEach(({ member }, index) => {
      const part = (byteLength * sizes[index]!) / slots;
      source.served += part;
      of(member).pulled += part;
    });
  }
  return work;
}

function byId(a: PlannedSegment, b: PlannedSegment): number {
  return a.segmentId < b.segmentId ? -1 : 1;
}
