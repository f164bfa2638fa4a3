import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate, ScanResult } from '../format/scan.js';

/** Input of a scanning thread. */
export interface ScanJob {
  /** The segment's bytes are at its beginning, or are read into it from the replica's file. */
  readonly shared: SharedArrayBuffer;
  readonly byteLength: number;
  /** The replica's file, if the bytes are there. */
  readonly path?: string | undefined;
  readonly identity: SegmentIdentity;
  readonly certificate?: Certificate | undefined;
  readonly floorBytes?: number | undefined;
}

export interface ScanAnswer {
  readonly result: ScanResult;
  /** The payload of the last log digest among the complete entries. */
  readonly digest: Uint8Array | undefined;
}
