/**
 * The number of free slots at which the requester reads P again: ceil(t·n) − 1, and at least 0, for "fewer than the
 * share t of all". The obvious `free < t·n` fails for n = 1 with t ≤ 0, and if t·n rounds to 0: it never
 * refreshes, and the requester waits for ever. An empty pool always refreshes.
 */
export function refreshLimit(slots: number, threshold: number): number {
  return Math.max(0, Math.ceil(threshold * slots) - 1);
}
