/**
 * Each run of a coordinator has a term, which is durable before its first act. Requests name the highest term that their
 * sender has seen, and answers the coordinator's own:
 *
 *   member ── { term: 4, request } ──▶ coordinator of term 5 ── { term: 5, answer } ──▶ member, which has seen 5 now
 */
import { TailwindError } from '../errors.js';

/** Refuses what a coordinator says after the member has heard of one that followed it. */
export class TermGuard {
  #highest = 0;

  /** The highest term that was seen; 0: none. */
  get highest(): number {
    return this.#highest;
  }

  /** @throws TailwindError ERR_RDMC_COORDINATOR_STALE */
  take(term: number): void {
    requireTerm(term, this.#highest);
    this.#highest = term;
  }
}

/** @throws TailwindError ERR_RDMC_COORDINATOR_STALE where a coordinator of term `seen` has followed the one of `term` */
export function requireTerm(term: number, seen: number): void {
  if (seen <= term) return;
  throw new TailwindError(
    'ERR_RDMC_COORDINATOR_STALE',
    `A coordinator of term ${term} was followed by one of term ${seen}: what the former says does not count`,
  );
}
