/** A bar of `width` cells: stored, received but not yet stored, and missing; shares from 0 to 1. */
export function bar(stored: number, received: number, width: number): string {
  const full = Math.floor(stored * width);
  const half = Math.max(full, Math.floor(received * width));
  return '█'.repeat(full) + '▒'.repeat(half - full) + '░'.repeat(width - half);
}
