import { CLOSE_DISTANCES, CLOSE_PART, MOST_CLOSE_MEMBERS } from './constants.js';

/**
 * Which peers a member of a fixed list watches closely. A mesh of n members has n(n − 1)/2 connections; if each had heartbeats
 * at the usual interval, 128 idle processes would use a whole processor for them. A silent member must be noticed in the usual
 * time, but some of the others are enough for that: they tell all (`FAILURE`).
 *
 * The members that have not ended form a ring, in the order of their ids. A member's close peers are those at the distances 1, 2, 4
 * and a third of the ring, in both directions. So members with successive ids, such as those of one machine, have watchers
 * elsewhere. If all watchers of a member end together with it, others become its neighbours in the ring, and watch it from then on.
 *
 * Two members with the same ring agree on whether they are close. A member that does not know of an end (a LEAVE does not come where
 * a path is cut) has another ring than its peers. Therefore each says in its heartbeats whether it watches the receiver, and
 * each sends as often as the other end expects.
 */
export class ClosePeers {
  readonly #own: number;
  #ring: number[];
  #close: ReadonlySet<number> | undefined;

  constructor(own: number, peers: Iterable<number>) {
    this.#own = own;
    this.#ring = [own, ...peers].sort((a, b) => a - b);
    this.#close = closePeers(this.#ring, own);
  }

  has(peer: number): boolean {
    return this.#close === undefined || this.#close.has(peer);
  }

  /** That peer has failed or left. */
  ended(peer: number): void {
    this.#ring = this.#ring.filter((id) => id !== peer);
    this.#close = closePeers(this.#ring, this.#own);
  }
}

/** Undefined: all of them. */
function closePeers(ring: readonly number[], own: number): ReadonlySet<number> | undefined {
  const { length } = ring;
  if (length <= MOST_CLOSE_MEMBERS) return undefined;
  const at = ring.indexOf(own);
  const close = new Set<number>();
  for (const distance of [...CLOSE_DISTANCES, Math.floor(length / CLOSE_PART)]) {
    close.add(ring[(at + distance) % length]!);
    close.add(ring[(at - distance + length) % length]!);
  }
  return close;
}
