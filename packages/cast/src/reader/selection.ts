import type { StreamTotals } from '../stream/records.js';
import type { Entry } from './entries.js';
import { Totals } from './totals.js';

/** Whether an entry is in a stream: a byte for each entry. */
export const Selected = {
  NO: 0,
  /** Every receiver of the cast lacks it. */
  YES: 1,
  /** Some receivers have it as it was when it was compared: it is sent only if it has not changed since. */
  UNCHANGED: 2,
} as const;

/** Adds the directories of selected entries: their times change when something in them is replaced. */
export function withDirectories(entries: readonly Entry[], selection: Uint8Array): Uint8Array {
  const all = Uint8Array.from(selection);
  for (const [index, { parent }] of entries.entries()) {
    if (selection[index] !== Selected.NO && parent >= 0 && all[parent] === Selected.NO)
      all[parent] = Selected.YES;
  }
  return all;
}

/** Totals of the entries that no stream has, because every receiver has them. */
export function unsentTotals(
  entries: readonly Entry[],
  selections: readonly (Uint8Array | undefined)[],
): StreamTotals {
  const totals = new Totals();
  for (const [index, entry] of entries.entries()) {
    if (selections.some((selection) => selection?.[index] !== Selected.NO)) continue;
    totals.count(entry.kind);
    if (entry.kind === 'file') totals.bytes += entry.size;
  }
  return { ...totals };
}
