import type { Checksum } from '../checksum.js';

export interface OpenOrder {
  readonly directory: string;
  readonly castId: string;
  readonly checksum: Checksum;
  /** Whether everything is synced before the cast is reported as complete. */
  readonly fsync: boolean;
}

export interface StoreOrder {
  /** Handle of the region, and the bytes of the message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
}
