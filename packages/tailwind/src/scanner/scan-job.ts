import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate, ScanResult } from '../format/scan.js';

/** Input of a scanning thread: bytes in shared memory, or the replica's file to read them from. */
export interface ScanJob {
  readonly source:
    | { readonly shared: SharedArrayBuffer }
    | { readonly path: string; readonly byteLength: number };
  readonly identity: SegmentIdentity;
  readonly certificate?: Certificate | undefined;
  readonly floorBytes?: number | undefined;
}

export interface ScanAnswer {
  readonly result: ScanResult;
  /** The segment's bytes, up to the end of what is complete. */
  readonly shared: SharedArrayBuffer;
  /** The payload of the last log digest among the complete entries. */
  readonly digest: Uint8Array | undefined;
}
