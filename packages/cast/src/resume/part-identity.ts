import { createHash } from 'node:crypto';
import type { Timestamp } from '../stream/records.js';

/** A file of a cast, as its manifest and its stream describe it. */
export interface FileFactsOfEntry {
  readonly path: Buffer;
  readonly size: number;
  readonly time: Timestamp;
}

const FIELDS_BYTES = 20;

/**
 * Identifies a file of a cast for later casts: SHA-256 of its entry in the manifest, that is, of size, time and path. It
 * is the identity of one entry, not of a whole manifest: receivers compare the first entries while the sender still lists
 * the last ones, and a cast of one more file must not lose what is there.
 */
export function partIdentity({ path, size, time }: FileFactsOfEntry): Buffer {
  const fields = Buffer.alloc(FIELDS_BYTES);
  fields.writeBigUInt64LE(BigInt(size));
  fields.writeBigInt64LE(BigInt(time.seconds), 8);
  fields.writeUInt32LE(time.nanoseconds, 16);
  return createHash('sha256').update('rdmc partial file').update(fields).update(path).digest();
}
