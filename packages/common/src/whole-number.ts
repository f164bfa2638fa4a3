/** Whether it is a whole number from `least` to `most`, both included, that a double holds exactly. */
export function isWholeNumber(
  value: unknown,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** A whole number in decimal digits, without sign, spaces or fraction; undefined for any other text. */
export function parseWholeNumber(
  text: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : undefined;
  return isWholeNumber(value, least, most) ? value : undefined;
}
