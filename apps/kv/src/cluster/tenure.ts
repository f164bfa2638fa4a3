/**
 * The tenures of slots. A tenure of a slot is the time from the moment at which a log gets it to the moment at which
 * another one does, or the same one again. The coordinator's record of each slot names the present tenure:
 *
 * ```
 * log      the log that has the slot; its owner serves the slot
 * epoch    rises with each change of the record, and is never used twice: a change names the epoch that it replaces
 * floor    the entries of the tenure have versions above it
 * ```
 *
 * Versions rise in the whole log, and a log belongs to one process. So the floor, which is the last version of the log
 * before the slot's first entry of this tenure, tells the entries of the tenure from all others in the same log: those of
 * earlier tenures, and those that an unfinished hand-over or takeover has left. The cleaner moves entries with their versions,
 * so this holds also after cleaning.
 *
 * Whoever brings entries into a log under a tenure gives them versions of that log, above the floor.
 */
import { SLOTS } from '../limits.js';

export interface Tenure {
  readonly logId: string;
  readonly epoch: number;
  readonly floor: number;
}

/** Neighbouring slots of one tenure. */
export type TenureRange = readonly [from: number, to: number, logId: string, epoch: number, floor: number];

/** Neighbouring slots of one log, with the floor of their tenure. */
export type FloorRange = [from: number, to: number, floor: number];

/** Whether the recovery of a log replays an entry of a slot: it was written under the tenure that the record names. */
export function isReplayed({ logId, floor }: Tenure, recovered: string, version: number): boolean {
  return logId === recovered && version > floor;
}

/** The logs that have slots. */
export interface Owners {
  /** The log of each slot. */
  readonly bySlot: readonly string[];
  readonly logs: ReadonlySet<string>;
}

const knownOwners = new WeakMap<readonly Tenure[], Owners>();

/** Made once for each list of tenures, which must not change afterwards: a coordinator asks for them several times in a hand-over. */
export function ownersOf(tenures: readonly Tenure[]): Owners {
  let owners = knownOwners.get(tenures);
  if (!owners) {
    const bySlot = tenures.map(({ logId }) => logId);
    owners = { bySlot, logs: new Set(bySlot) };
    knownOwners.set(tenures, owners);
  }
  return owners;
}

/** The floor of each slot that a recovery of one log replays; no version is above that of the other slots. */
export class Floors {
  readonly #floors = new Float64Array(SLOTS).fill(Number.POSITIVE_INFINITY);

  constructor(ranges: readonly Readonly<FloorRange>[]) {
    for (const [from, to, floor] of ranges) this.#floors.fill(floor, from, to + 1);
  }

  /** The slots that a log has by these records. */
  static of(tenures: readonly Tenure[], logId: string): Floors {
    return new Floors(floorRanges(tenures, logId));
  }

  /** As the function `isReplayed`, for the log of these floors. */
  isReplayed(slot: number, version: number): boolean {
    return version > this.#floors[slot]!;
  }
}

/** The slots of a log with their floors: neighbours with the same floor are one range. */
export function floorRanges(tenures: readonly Tenure[], logId: string): FloorRange[] {
  const ranges: FloorRange[] = [];
  for (const [slot, tenure] of tenures.entries()) {
    if (tenure.logId !== logId) continue;
    const last = ranges.at(-1);
    if (last && last[1] === slot - 1 && last[2] === tenure.floor) last[1] = slot;
    else ranges.push([slot, slot, tenure.floor]);
  }
  return ranges;
}

/** All slots, as ranges of neighbours with the same tenure. */
export function tenureRanges(tenures: readonly Tenure[]): TenureRange[] {
  const ranges: [number, number, string, number, number][] = [];
  let before: Tenure | undefined;
  for (let slot = 0; slot < tenures.length; slot += 1) {
    const tenure = tenures[slot]!;
    const last = ranges.at(-1);
    // Neighbours are mostly the same object.
    if (last && tenure === before) {
      last[1] = slot;
      continue;
    }
    before = tenure;
    const { logId, epoch, floor } = tenure;
    if (last && last[2] === logId && last[3] === epoch && last[4] === floor) last[1] = slot;
    else ranges.push([slot, slot, logId, epoch, floor]);
  }
  return ranges;
}
