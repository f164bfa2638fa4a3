import type { AppendLocation, EntryLocation } from '@rdmc/tailwind';
import type { KeyEntry } from './hash.js';

/** The index, as far as the outcome of an append concerns it. */
interface PackedIndex {
  inHeap(slot: number): Iterable<[string, KeyEntry]>;
  delete(slot: number, key: string): unknown;
  settle(slot: number, key: string, entry: KeyEntry): void;
}

/** An entry that was made before the append was acknowledged. */
interface EarlyEntry {
  readonly slot: number;
  readonly key: string;
  readonly entry: KeyEntry;
  /** In the append. */
  readonly position: number;
}

/** An append of strings that were taken over: what is common to those that are packed, and to their entries when these exist. */
export class PackedAppend {
  /** Slots with packed keys of this append. */
  readonly slots = new Set<number>();
  #location: AppendLocation | undefined;
  #early: EarlyEntry[] = [];

  constructor(
    /** Its number in the store. */
    readonly sequence: number,
    /** Identifies the takeover; each key occurs once in it. */
    readonly origin: symbol,
  ) {}

  /** The place of an entry in the log, once that is known. */
  placeOf(position: number): EntryLocation | undefined {
    return this.#location && locationAt(this.#location, position);
  }

  /** An entry was made of a key that was packed. The append tells it its place, now or as soon as that is known. */
  made(early: EarlyEntry): void {
    if (this.#location) early.entry.locate(locationAt(this.#location, early.position));
    this.#early.push(early);
  }

  /** @param dead called with the places of entries that were superseded meanwhile */
  placed(location: AppendLocation, dead: (location: EntryLocation) => void): void {
    this.#location = location;
    for (const { entry, position } of this.#early) {
      const place = locationAt(location, position);
      entry.locate(place);
      if (entry.stale) dead(place);
    }
  }

  /** The log has acknowledged the append. */
  settled(index: PackedIndex): void {
    for (const { slot, key, entry } of this.#early) index.settle(slot, key, entry);
    this.#early = [];
  }

  /** The log refused the append: its keys were not here before. */
  undo(index: PackedIndex): void {
    for (const slot of this.slots) {
      for (const [key, entry] of index.inHeap(slot)) {
        if (entry.sequence === this.sequence) index.delete(slot, key);
      }
    }
  }
}

/** Of one entry of an append. */
export function locationAt({ segmentId, offsets }: AppendLocation, position: number): EntryLocation {
  return { segmentId, offset: offsets[position]! };
}
