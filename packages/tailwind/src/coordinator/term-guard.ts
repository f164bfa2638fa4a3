/**
 * Each run of a coordinator has a term, which is durable before its first act. Requests name the highest term that their
 * sender has seen; answers and orders name the coordinator's own:
 *
 *   member ── { term: 4, request } ──▶ coordinator of term 5 ── { term: 5, answer } ──▶ member, which has seen 5 now
 *   coordinator of term 5 ── { term: 5, order } ──▶ member, which refuses the orders of term 4 from now on
 */
import { openRecord, whole } from '@rdmc/common/shapes';
import { TailwindError } from '../errors.js';

/** The envelope of a request, beside which is `request`. */
export const callEnvelope = openRecord({ term: whole() });
/** The envelope of an answer, beside which is `answer`, and of an order, beside which is `order`. */
export const coordinatorEnvelope = openRecord({ term: whole(1) });

/** @throws TailwindError ERR_RDMC_COORDINATOR_STALE where a coordinator of term `seen` has followed the one of `term` */
export function requireTerm(term: number, seen: number): void {
  if (seen <= term) return;
  throw new TailwindError(
    'ERR_RDMC_COORDINATOR_STALE',
    `A coordinator of term ${term} was followed by one of term ${seen}: what the former says does not count`,
  );
}
