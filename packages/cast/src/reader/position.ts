/** The offset before the first record of an entry. */
export const BEGIN = -1;

/** A place in the stream: between two records, or between two bytes of a file. */
export interface Position {
  /** Index of the entry; the index after the last entry is the end of the stream. */
  readonly entry: number;
  /** `BEGIN`, or the next byte of the file; its size where only the end of the file is missing. */
  readonly offset: number;
}

export function isBefore(a: Position, b: Position): boolean {
  return a.entry < b.entry || (a.entry === b.entry && a.offset < b.offset);
}
