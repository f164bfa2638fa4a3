/** floor(log2 n) of an integer 1 ≤ n < 2^31. */
export function floorLog2(n: number): number {
  return 31 - Math.clz32(n);
}

/** ceil(log2 n) of an integer 1 ≤ n < 2^31. */
export function ceilLog2(n: number): number {
  return n === 1 ? 0 : 32 - Math.clz32(n - 1);
}

/** Number of one bits of a 32-bit integer. */
export function popcount(n: number): number {
  let x = n - ((n >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Number of trailing zero bits of a 32-bit integer other than 0. */
export function trailingZeros(n: number): number {
  return 31 - Math.clz32(n & -n);
}

/** σ of the paper: the right circular shift of the `width`-bit number `n` by `by` < width positions. */
export function rotateRight(n: number, by: number, width: number): number {
  const mask = (1 << width) - 1;
  return ((n >>> by) | (n << (width - by))) & mask;
}
