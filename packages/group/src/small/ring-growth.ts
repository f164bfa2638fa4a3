/*
 * From the first ring to the full one, in the application's threads. The request goes down the tree of the ring, and the
 * answers come back up, so that every member behind a ring has a full one before anybody writes to it:
 *
 *   root                          relay                         its children
 *   lacks room ── enlarge ──────▶ allocates ── enlarge ───────▶ allocate
 *                                 its worker knows them ◀────── enlarged {address of the full ring}
 *   its worker knows them ◀────── enlarged {address}
 *   next entry: into the full ring
 *
 * Nothing waits for it: messages go on through the first ring. A member without memory answers null, and all above it do; the
 * ring stays as it is then.
 */
import { Deferred } from '@rdmc/common';
import type { RingAddress, SmallSetup } from '../records.js';
import type { SmallMemory } from './small-memory.js';

/** A ring of a group at one member. */
export interface RingPlace {
  /** Id of the member whose messages are in it. */
  readonly sender: number;
  readonly memory: SmallMemory;
  /** A link of it. */
  readonly link: number;
  /** Ids of the members to which this one writes, by link, and of the one that writes to it; undefined at the root. */
  readonly children: readonly number[];
  readonly parent: number | undefined;
}

/** The functions of the group that the growth of its rings calls. */
export interface GrowthPort {
  /** Tells the worker of a full ring. */
  grow(full: { link: number; ring: SmallSetup['ring']; addresses: readonly RingAddress[] }): Promise<void>;
  enlarge(member: number, sender: number): void;
  enlarged(member: number, sender: number, ring: RingAddress | null): void;
  /** Whether the group has not ended. */
  isOpen(): boolean;
  /** This member has a full ring; at the root, and so has everybody. */
  use(place: RingPlace, full: Uint8Array): void;
}

/** One ring at one member. */
class GrowingRing {
  readonly #answers: ReadonlyMap<number, Deferred<RingAddress | null>>;
  #hasBegun = false;

  constructor(
    private readonly place: RingPlace,
    private readonly port: GrowthPort,
  ) {
    this.#answers = new Map(place.children.map((child) => [child, new Deferred<RingAddress | null>()]));
  }

  begin(): void {
    const { port, place } = this;
    // A request may still arrive when the memory of the group is freed.
    if (this.#hasBegun || !port.isOpen()) return;
    this.#hasBegun = true;
    for (const child of place.children) port.enlarge(child, place.sender);
    void this.#run().then((ring) => {
      if (place.parent !== undefined && port.isOpen()) port.enlarged(place.parent, place.sender, ring);
    });
  }

  asked(from: number): void {
    if (from === this.place.parent) this.begin();
  }

  answered(from: number, ring: RingAddress | null): void {
    this.#answers.get(from)?.resolve(ring);
  }

  /** Resolves with the address of the full ring; null: it stays the first one. */
  async #run(): Promise<RingAddress | null> {
    const { port, place } = this;
    const { memory, link } = place;
    try {
      const region = await memory.grow();
      const answers = await Promise.all([...this.#answers.values()].map(({ promise }) => promise));
      const addresses = answers.filter((answer) => answer !== null);
      if (addresses.length < answers.length) {
        await memory.shrink();
        return null;
      }
      // The number of the group may be another group's afterwards.
      if (!port.isOpen() || memory.isClosed) return null;
      await port.grow({ link, ring: region.handle, addresses });
      if (!port.isOpen() || memory.isClosed) return null;
      port.use(place, region.view());
      return place.parent === undefined ? null : region.remote();
    } catch {
      // No memory, or the group ends.
      return null;
    }
  }
}

/** The growth of all rings of one member of a group. */
export class RingGrowth {
  readonly #rings: ReadonlyMap<number, GrowingRing>;

  constructor(places: readonly RingPlace[], port: GrowthPort) {
    this.#rings = new Map(places.map((place) => [place.sender, new GrowingRing(place, port)]));
  }

  /** There is no room in the ring of that sender, which is this member. */
  begin(sender: number): void {
    this.#rings.get(sender)?.begin();
  }

  /** The member that writes into this member's ring of that sender asks for a full one. */
  asked(from: number, sender: number): void {
    this.#rings.get(sender)?.asked(from);
  }

  /** A member into whose ring of that sender this one writes has a full one, or cannot have it. */
  answered(from: number, sender: number, ring: RingAddress | null): void {
    this.#rings.get(sender)?.answered(from, ring);
  }
}
