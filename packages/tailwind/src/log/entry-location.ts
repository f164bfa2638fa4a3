/** Where one entry lies in a log. */
export interface EntryLocation {
  readonly segmentId: bigint;
  /** Of the entry's header in the segment, in bytes. */
  readonly offset: number;
}
