import type { EntryLocation } from '@rdmc/tailwind';

/** Places that are kept before those that nobody needs are looked for. */
const FREE_PLACES = 1024;

interface Place extends EntryLocation {
  /** The last write of the key, when the log moved the entry. */
  readonly sequence: number;
}

/** An entry of the store, as far as its place goes. */
interface Placed {
  readonly version: number;
  locate(location: EntryLocation): void;
}

/**
 * New places of entries that the log has moved while the write that supersedes them did not have a place. Where that write is undone,
 * the entry is its key's again, and must be found at the new place; where it gets one, the entry is garbage there.
 */
export class Displaced {
  /** By version, which no two entries of a store share. */
  readonly #places = new Map<number, Place>();
  #most = FREE_PLACES;

  get size(): number {
    return this.#places.size;
  }

  /**
   * @param sequence the append of the key's last write
   * @param acknowledged of an append up to this one, no write is undone any more
   */
  moved(version: number, { segmentId, offset }: EntryLocation, sequence: number, acknowledged: number): void {
    if (this.#places.size >= this.#most) this.#prune(acknowledged);
    this.#places.set(version, { segmentId, offset, sequence });
  }

  /** The write has a place, or is undone: tells the entry where it is. */
  relocate(entry: Placed): void {
    const place = this.#places.size === 0 ? undefined : this.#places.get(entry.version);
    if (!place) return;
    this.#places.delete(entry.version);
    entry.locate(place);
  }

  #prune(acknowledged: number): void {
    for (const [version, { sequence }] of this.#places) {
      if (sequence <= acknowledged) this.#places.delete(version);
    }
    this.#most = Math.max(FREE_PLACES, 2 * this.#places.size);
  }
}
