/** Identifies a segment of a log. */
export interface SegmentRef {
  /** The log. */
  readonly logId: bigint;
  /** The segment in that log. */
  readonly segmentId: bigint;
}

/** A key for maps, and a part of a file's name: two hexadecimal numbers of 16 digits. */
export function segmentKey({ logId, segmentId }: SegmentRef): string {
  return `${hex16(logId)}-${hex16(segmentId)}`;
}

function hex16(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}
