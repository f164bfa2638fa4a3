import type { SegmentIdentity } from '../format/layout.js';
import type { Certificate, ScanResult } from '../format/scan.js';

/** How the entries of a segment are divided among heirs. */
export interface DivideJob {
  /** URL of the divider's module: its default export is a {@link Divider}. */
  readonly divider: string;
  /** Int16Array: the part of each slot, or −1. */
  readonly partOfSlot: SharedArrayBuffer;
  /** Number of parts. */
  readonly parts: number;
  /** The entries in this prefix are divided, in bytes; undefined: all that are complete. */
  readonly byteLength: number | undefined;
}

/**
 * Gives the slot of an entry: of the payload `bytes[start, end)`. A negative one is nobody's. Runs in a thread for each
 * entry of a segment, so it should not allocate.
 */
export type Divider = (type: number, bytes: Uint8Array, start: number, end: number) => number;

/** Input of a scanning thread. */
export interface ScanJob {
  /**
   * The segment's bytes are at its beginning, or are read into it from the replica's file. With `divide` it has as many
   * bytes behind them: the parts, one behind the other, with the entries in the order of the segment.
   */
  readonly shared: SharedArrayBuffer;
  readonly byteLength: number;
  /** The replica's file, if the bytes are there. */
  readonly path?: string | undefined;
  readonly identity: SegmentIdentity;
  readonly certificate?: Certificate | undefined;
  readonly floorBytes?: number | undefined;
  readonly divide?: DivideJob | undefined;
}

export interface ScanAnswer {
  readonly result: ScanResult;
  /** The payload of the last log digest among the complete entries. */
  readonly digest: Uint8Array | undefined;
  /** Length of each part in bytes; undefined where nothing was divided: fewer bytes than that are complete. */
  readonly partBytes: readonly number[] | undefined;
}
