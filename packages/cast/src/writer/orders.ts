import type { Checksum } from '../checksum.js';
import type { ComparisonPolicy } from '../manifest/policy.js';

export interface OpenOrder {
  readonly directory: string;
  readonly castId: string;
  readonly checksum: Checksum;
  /** Whether everything is synced before the cast is reported as complete. */
  readonly fsync: boolean;
  /** How entries are compared before they are sent; undefined where they are not. */
  readonly policy?: ComparisonPolicy | undefined;
}

/** A piece of the manifest. */
export interface ExamineOrder {
  readonly first: number;
  readonly count: number;
  readonly data: string;
}

/** Hashes of blocks of a file. */
export interface BlocksOrder {
  readonly index: number;
  readonly first: number;
  readonly data: string;
}

export interface FinishOrder {
  /** Of all streams. */
  readonly messages: number;
  /** Whether entries that the sender does not have are removed. */
  readonly remove: boolean;
}

export interface StoreOrder {
  /** Handle of the region, and the bytes of the message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
}
