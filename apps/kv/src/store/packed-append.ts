import type { AppendLocation, EntryLocation } from '@rdmc/tailwind';
import type { KeyEntry } from './hash.js';

/** The index, as far as an append that is undone needs it. */
interface UndoneIndex {
  entries(slot: number): Iterable<[string, KeyEntry]>;
  delete(slot: number, key: string): void;
}

/** An append of strings that were taken over: what is common to those that are packed, and to their entries when these exist. */
export class PackedAppend {
  /** Slots with packed keys of this append. */
  readonly slots = new Set<number>();
  #location: AppendLocation | undefined;
  /** Entries that were made before the append had its place, by their position in the append. */
  #waiting = new Map<number, KeyEntry>();

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

  /** Tells an entry of the append its place, now or as soon as that is known. */
  locate(entry: KeyEntry, position: number): void {
    if (this.#location) entry.locate(locationAt(this.#location, position));
    else this.#waiting.set(position, entry);
  }

  /** @param dead called with the places of entries that were superseded meanwhile */
  placed(location: AppendLocation, dead: (location: EntryLocation) => void): void {
    this.#location = location;
    for (const [position, entry] of this.#waiting) {
      const place = locationAt(location, position);
      entry.locate(place);
      if (entry.stale) dead(place);
    }
    this.#waiting = new Map();
  }

  /** The log refused the append: its keys were not here before. */
  undo(index: UndoneIndex): void {
    for (const slot of this.slots) {
      for (const [key, entry] of index.entries(slot)) {
        if (entry.sequence === this.sequence) index.delete(slot, key);
      }
    }
  }
}

/** Of one entry of an append. */
export function locationAt({ segmentId, offsets }: AppendLocation, position: number): EntryLocation {
  return { segmentId, offset: offsets[position]! };
}
