/** Location of one entry in a log. */
export interface EntryLocation {
  /** The segment that holds the entry. */
  readonly segmentId: bigint;
  /** Offset of the entry's header in the segment, in bytes. */
  readonly offset: number;
}
