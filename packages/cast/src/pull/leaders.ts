import type { Logger } from '@rdmc/common';
import { type AbortError, CastError } from '../errors.js';
import type { FetcherLink } from './fetcher-link.js';
import type { LedTook } from './led-run.js';
import type { SwarmPlan } from './swarm-plan.js';

/** Fetchers that have everything, and serve on: each may lead a run, one after the other. */
export class Leaders {
  readonly #links = new Set<FetcherLink>();

  constructor(private readonly logger: Logger | undefined) {}

  get count(): number {
    return this.#links.size;
  }

  /** The one that has waited longest. It goes to the end. */
  next(): FetcherLink | undefined {
    const [first] = this.#links;
    if (!first) return undefined;
    this.#links.delete(first);
    this.#links.add(first);
    return first;
  }

  /** Resolves when the fetcher leaves. */
  async keep(link: FetcherLink): Promise<void> {
    this.#links.add(link);
    await link.down;
    this.#links.delete(link);
  }

  /** Lets all of them go. */
  release(reason: CastError | AbortError): void {
    for (const link of this.#links) link.release(reason);
  }

  /**
   * Judges a run: a leader that sent altered bytes, or of which no member got anything, leads no further one.
   * @returns the pieces that at least one member got
   */
  judge(
    leader: FetcherLink,
    pieces: Uint32Array,
    took: ReadonlyMap<FetcherLink, LedTook>,
    plan: SwarmPlan,
  ): Uint32Array {
    const gained = new Set<number>();
    let broken = 0;
    for (const [link, its] of took) {
      broken += its.broken;
      const has = pieces.filter((piece) => its.has.has(piece) && plan.lacks(link.id, piece));
      for (const piece of has) gained.add(piece);
      plan.took(link.id, has);
    }
    if (broken > 0) {
      const message = `${leader.name} served on, and messages of its run were not those of the server; it does not serve on any more`;
      this.#drop(leader, new CastError('ERR_RDMC_HASH_MISMATCH', message));
    } else if (gained.size === 0) {
      const message = `${leader.name} served on, and no fetcher got anything from it; it does not serve on any more`;
      this.#drop(leader, new CastError('ERR_RDMC_RECEIVER_LOST', message));
    }
    return Uint32Array.from(gained);
  }

  #drop(leader: FetcherLink, error: CastError): void {
    this.#links.delete(leader);
    this.logger?.warn?.({ fetcher: leader.name, code: error.code }, error.message);
    leader.release(error);
  }
}
