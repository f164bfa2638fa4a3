/** How full a log is, and what was done in it since it was created. */
export interface LogStats {
  /** Segments in this member's memory. */
  readonly segments: number;
  /** What they take, in bytes, empty room included. */
  readonly bytes: number;
  /** Bytes of entries that are live as far as the log was told, headers included. */
  readonly liveBytes: number;
  /** Bytes of all entries that were ever appended, headers included; what the cleaner moved is not in it. */
  readonly appendedBytes: number;
  /** Segments that the cleaner freed. */
  readonly cleanedSegments: number;
  /** Bytes of entries that the cleaner copied. */
  readonly movedBytes: number;
}
