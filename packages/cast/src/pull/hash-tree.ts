/**
 * The root hash of a pull: it names a list of entries and the contents of their files.
 *
 *   leaf   SHA-256 of 0x00 and the bytes of a piece (at most 1 MiB of one file)
 *   node   SHA-256 of 0x01 and two hashes; the last hash of an odd row goes up as it is
 *   root   SHA-256 of 0x02, the SHA-256 of the list of entries, and the topmost node (32 zero bytes where there are no
 *          pieces). The list is hashed as it is sent: the compressed pieces of `manifest/layout.ts`, one behind the other
 */
import { createHash } from 'node:crypto';

export const HASH_BYTES = 32;
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);
const ROOT = Buffer.of(2);

export function leafHash(piece: Uint8Array): Buffer {
  return createHash('sha256').update(LEAF).update(piece).digest();
}

/**
 * @param entries SHA-256 of the list of entries
 * @param hashes those of all pieces, one behind the other
 */
export function rootHash(entries: Uint8Array, hashes: Buffer): Buffer {
  return createHash('sha256').update(ROOT).update(entries).update(topOf(hashes)).digest();
}

function topOf(leaves: Buffer): Buffer {
  if (leaves.length === 0) return Buffer.alloc(HASH_BYTES);
  let row = leaves;
  while (row.length > HASH_BYTES) row = above(row);
  return row;
}

function above(row: Buffer): Buffer {
  const pairs: Buffer[] = [];
  for (let at = 0; at < row.length; at += 2 * HASH_BYTES) {
    const pair = row.subarray(at, at + 2 * HASH_BYTES);
    pairs.push(pair.length === HASH_BYTES ? pair : createHash('sha256').update(NODE).update(pair).digest());
  }
  return Buffer.concat(pairs);
}
