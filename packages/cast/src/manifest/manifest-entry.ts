import type { Timestamp } from '../stream/records.js';
import type { EntryKind } from './layout.js';

/** An entry of the sender, as a receiver compares it. */
export interface ManifestEntry {
  readonly kind: keyof typeof EntryKind;
  readonly path: Buffer;
  readonly mode: number;
  readonly time: Timestamp;
  readonly size: number;
  /** Of a link; else empty. */
  readonly target: Buffer;
  /** Of a hard link; else 0. */
  readonly targetIndex: number;
  /** Digest of a file's contents, where contents are compared. */
  readonly digest: Buffer | undefined;
  /** In an archive cast, unless it is a hard link: a block of `archive/layout.ts`. */
  readonly attributes?: Buffer | undefined;
}
