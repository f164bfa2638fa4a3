/**
 * The rules of the hand-over of slots between two servers that run, as functions without a store: the coordinator stores their
 * results, and a model checks them in every order of steps and failures.
 *
 * ```
 * source                                  target                          coordinator
 *                                                                         number, and the epochs of the slots
 *   ◀──────────────────────────────── hand these slots over ────────────────
 *   ── these slots come; my last version ──▶
 *   ◀───────── floor: my last version ────── forgets what it has of the slots
 *   ── live entries, and each change ──────▶ appends them to its log, with versions above the floor
 *   does not serve the slots any more
 *   finishes the appends under way
 *   ── the rest; that was all ─────────────▶
 *   ◀───────────────── durable ─────────────
 *   ── may the target have them? ─────────────────────────────────────────▶ compares the epochs, and stores the
 *   ◀──────────────────────────────── moved, or kept ────────────────────── new tenures, or new epochs
 *   forgets them, or serves them again      serves them when the table says so
 * ```
 *
 * From the moment at which the source stops, only the coordinator's answer ends its wait: moved, or kept once the epochs that the
 * commit would compare are replaced durably.
 */
import type { Tenure } from '../cluster/tenure.js';
import { KvError } from '../errors.js';

export type Outcome = 'moved' | 'kept';

/** A change of a slot's record: it replaces this epoch only. */
export interface TenureChange {
  readonly slot: number;
  readonly expected: number;
  readonly next: Tenure;
}

/** @throws KvError ERR_RDMC_KV_HANDOVER_FAILED: the record has another epoch by now */
export function replaced(present: Tenure, { slot, expected, next }: TenureChange): Tenure {
  if (present.epoch === expected) return next;
  throw new KvError(
    'ERR_RDMC_KV_HANDOVER_FAILED',
    `slot ${slot} has epoch ${present.epoch}, and not ${expected}: its record was changed meanwhile`,
  );
}

/** The record after a hand-over that will not happen: no commit that expects the former epoch succeeds any more. */
export function renewed(present: Tenure, epoch: number): Tenure {
  return { ...present, epoch };
}

/** What a source that has stopped hears, by the records of its slots: another log has them, or they are its own. */
export function outcomeOf(tenures: readonly Tenure[], source: string): Outcome {
  return tenures.every(({ logId }) => logId === source) ? 'kept' : 'moved';
}
