/** Where one entry lies in a log: what `@rdmc/tailwind` gives, and takes back when the entry is superseded. */
export interface EntryLocation {
  readonly segmentId: bigint;
  readonly offset: number;
}
