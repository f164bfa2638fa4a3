import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Checksum, checksums, fileDigest, newChecksum } from '../src/checksum.js';
import { DIGEST_BYTES } from '../src/stream/layout.js';

function digestOf(checksum: Checksum, entry: number, ...pieces: readonly Uint8Array[]): string {
  const digest = fileDigest(checksum, entry);
  for (const piece of pieces) digest.update(piece);
  const bytes = digest.digest();
  expect(bytes).toHaveLength(DIGEST_BYTES);
  return bytes.toString('hex');
}

describe.each(checksums)('%s', (kind) => {
  const checksum = newChecksum(kind);

  it('is the same however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(), fc.nat(), (bytes, one, other) => {
        const [a, b] = [one % (bytes.length + 1), other % (bytes.length + 1)].sort((x, y) => x - y);
        const pieces = [bytes.subarray(0, a), bytes.subarray(a, b), bytes.subarray(b)];
        expect(digestOf(checksum, 3, ...pieces)).toBe(digestOf(checksum, 3, bytes));
      }),
    );
  });

  it('is another one where one bit, the length or the order differs', () => {
    const bytes = createHash('sha512').update(kind).digest();
    const known = digestOf(checksum, 0, bytes);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(digestOf(checksum, 0, flipped)).not.toBe(known);
    }
    expect(digestOf(checksum, 0, bytes, Buffer.alloc(1))).not.toBe(known);
    expect(digestOf(checksum, 0, bytes.subarray(16), bytes.subarray(0, 16))).not.toBe(known);
  });
});

describe('gmac', () => {
  it('is that of NIST SP 800-38D: the tag of test case 13 of the GCM specification', () => {
    const digest = digestOf({ kind: 'gmac', key: new Uint8Array(32) }, 0);
    expect(digest).toBe('530f8afbc74536b9a963b4f1c4cb738b'.padEnd(64, '0'));
  });

  it('depends on the key of the cast and on the entry', () => {
    const bytes = createHmac('sha256', 'x').digest();
    const [one, other] = [newChecksum('gmac'), newChecksum('gmac')];
    expect(digestOf(one, 1, bytes)).not.toBe(digestOf(other, 1, bytes));
    expect(digestOf(one, 1, bytes)).not.toBe(digestOf(one, 2, bytes));
  });
});

describe('sha256', () => {
  it('is SHA-256', () => {
    const bytes = Buffer.from('abc');
    const known = createHash('sha256').update(bytes).digest('hex');
    expect(digestOf(newChecksum('sha256'), 9, bytes)).toBe(known);
  });
});
