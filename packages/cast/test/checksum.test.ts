import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Checksum, checksums, fileDigest, newChecksum } from '../src/checksum.js';
import { ContentDigest } from '../src/content-digest.js';
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

  it('differs where one bit, the length or the order differs', () => {
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

describe('a digest of a file with holes', () => {
  type Piece = string | number;
  const digest = (checksum: Checksum, ...pieces: readonly Piece[]): string => {
    const content = new ContentDigest(checksum, 7);
    for (const piece of pieces) {
      if (typeof piece === 'number') content.hole(piece);
      else content.update(Buffer.from(piece));
    }
    return content.digest().toString('hex');
  };

  it.each(checksums)('%s: is the same however the pieces are cut', (kind) => {
    const checksum = newChecksum(kind);
    const whole = digest(checksum, 100, 'data', 200, 'more', 2 ** 52);
    expect(digest(checksum, 40, 60, 'da', 'ta', 200, 'mo', 're', 2 ** 51, 2 ** 51)).toBe(whole);
    expect(whole).toHaveLength(64);
  });

  it.each(checksums)('%s: depends on the positions of holes, and differs from that of zeros', (kind) => {
    const checksum = newChecksum(kind);
    const variants: Piece[][] = [
      ['data'],
      ['data', 100],
      [100, 'data'],
      [50, 'data', 50],
      ['da', 100, 'ta'],
      ['data', '\0'.repeat(100)],
      [104],
      [104, 'x'],
    ];
    expect(new Set(variants.map((pieces) => digest(checksum, ...pieces))).size).toBe(variants.length);
  });

  it.each(checksums)('%s: without holes is that of its bytes', (kind) => {
    const checksum = newChecksum(kind);
    const bytes = fileDigest(checksum, 7);
    bytes.update(Buffer.from('data'));
    expect(digest(checksum, 'da', 'ta')).toBe(bytes.digest().toString('hex'));
  });
});
