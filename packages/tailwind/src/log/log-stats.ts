/** The size of a log, and counters since it was created. */
export interface LogStats {
  /** Segments in this member's memory. */
  readonly segments: number;
  /** Memory of the segments, in bytes, empty space included. */
  readonly bytes: number;
  /** Memory of as many segments as the log may have, in bytes. */
  readonly limitBytes: number;
  /** Bytes of entries that have not been reported dead, headers included. */
  readonly liveBytes: number;
  /**
   * Bytes of all entries that were ever appended, headers included; entries that the cleaner moved are not counted.
   */
  readonly appendedBytes: number;
  /** Segments that the cleaner freed. */
  readonly cleanedSegments: number;
  /** Bytes of entries that the cleaner copied. */
  readonly movedBytes: number;
}
