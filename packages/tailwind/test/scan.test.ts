import { type ScanOptions, type ScanReason, scanSegment } from '@rdmc/tailwind/format';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../src/format/crc32.js';
import { seedCrc } from '../src/format/identity.js';
import { writeU32 } from '../src/format/layout.js';
import { checksumValue } from '../src/format/segment-writer.js';
import { IDENTITY, type SampleSegment, sampleSegment } from './support/segments.js';

const sample = (): SampleSegment => sampleSegment(400, [[5], [0, 40], [120]]);

/** The end of the last group that is complete in the first `length` bytes. */
function lastEnd(ends: readonly number[], length: number): number {
  return Math.max(0, ...ends.filter((end) => end <= length));
}

function certificateOf({ bytes, ends }: SampleSegment) {
  const { checksum } = scanSegment(bytes, IDENTITY);
  return { byteLength: ends.at(-1)!, checksum };
}

describe('torn writes', () => {
  it('a write that stops at any byte leaves the groups before it', () => {
    const { bytes, ends } = sample();
    for (let written = 0; written <= ends.at(-1)!; written += 1) {
      const torn = new Uint8Array(bytes.length);
      torn.set(bytes.subarray(0, written));
      // Missing bytes that were zero do not matter: then the write was complete.
      const same = (end: number): boolean =>
        Buffer.compare(torn.subarray(0, end), bytes.subarray(0, end)) === 0;
      const expected = Math.max(0, ...ends.filter(same));
      expect(scanSegment(torn, IDENTITY)).toMatchObject({ status: 'ok', offset: expected });
    }
  });

  it('writes that stop in any of many segments', () => {
    const group = fc.array(fc.nat(60), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(group, { minLength: 1, maxLength: 6 }), fc.nat(), (groups, at) => {
        const { bytes, ends } = sampleSegment(4096, groups);
        const written = at % (ends.at(-1)! + 1);
        const torn = new Uint8Array(bytes.length);
        torn.set(bytes.subarray(0, written));
        const { offset } = scanSegment(torn, IDENTITY);
        expect(ends.includes(offset) || offset === 0).toBe(true);
        expect(offset).toBeGreaterThanOrEqual(lastEnd(ends, written));
        expect(torn.subarray(0, offset)).toEqual(bytes.subarray(0, offset));
      }),
    );
  });

  it('a write whose missing bytes were zero counts as complete', () => {
    // Searches for a checksum whose last byte is 0, so that tearing it off changes nothing.
    for (let incarnation = 0; ; incarnation += 1) {
      const identity = { ...IDENTITY, incarnation };
      const { bytes, ends } = sampleSegment(100, [[3]], identity);
      const end = ends[0]!;
      if (bytes[end - 1] !== 0) continue;
      expect(scanSegment(bytes.subarray(0, end), identity)).toMatchObject({ offset: end, reason: 'end' });
      const torn = bytes.slice();
      torn.fill(0, end - 1);
      expect(scanSegment(torn, identity)).toMatchObject({ status: 'ok', offset: end });
      break;
    }
  });
});

describe('damage', () => {
  it('no flipped bit lets the offset go past it', () => {
    const { bytes, ends } = sample();
    for (let bit = 0; bit < ends.at(-1)! * 8; bit += 1) {
      const flipped = bytes.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const { status, offset } = scanSegment(flipped, IDENTITY);
      expect([bit, status, offset]).toEqual([bit, 'ok', lastEnd(ends, bit >> 3)]);
    }
  });

  it('any flipped bit makes a closed replica unusable', () => {
    const segment = sample();
    const certificate = certificateOf(segment);
    expect(scanSegment(segment.bytes, { ...IDENTITY, certificate })).toMatchObject({ status: 'ok' });
    for (let bit = 0; bit < certificate.byteLength * 8; bit += 1) {
      const flipped = segment.bytes.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(scanSegment(flipped, { ...IDENTITY, certificate }).status).toBe('corrupt');
    }
  });

  it('hostile lengths are never followed', () => {
    const { bytes, ends } = sample();
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 0xffff_ffff }),
        fc.constantFrom(0, ...ends.slice(0, -1)),
        (length, at) => {
          const hostile = bytes.slice();
          writeU32(hostile, at + 4, length);
          const changed = Buffer.compare(hostile, bytes) !== 0;
          expect(scanSegment(hostile, IDENTITY).offset).toBe(changed ? at : ends.at(-1));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('garbage has no entries, and garbage behind groups does not matter', () => {
    const { bytes, ends } = sample();
    const end = ends.at(-1)!;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (garbage) => {
        const found = scanSegment(garbage, IDENTITY);
        expect([found.status, found.offset, found.checksum]).toEqual(['ok', 0, 0]);
        const behind = Buffer.concat([bytes.subarray(0, end), garbage]);
        expect(scanSegment(behind, IDENTITY).offset).toBe(end);
      }),
      { numRuns: 2000 },
    );
  });

  it('another log, segment or incarnation does not verify', () => {
    const { bytes } = sample();
    for (const other of [{ logId: 78n }, { segmentId: 2n }, { incarnation: 6 }]) {
      expect(scanSegment(bytes, { ...IDENTITY, ...other })).toEqual({
        status: 'ok',
        offset: 0,
        checksum: 0,
        reason: 'checksum-mismatch',
      });
    }
  });

  it('reads nothing outside of the bytes it is given', () => {
    const { bytes, ends } = sample();
    const guarded = new Proxy(bytes.subarray(0, ends[1]! + 5), {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name) && Number(name) >= target.length) {
          throw new Error(`read at ${name} of ${target.length}`);
        }
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    expect(scanSegment(guarded, IDENTITY)).toMatchObject({ offset: ends[1], reason: 'short-header' });
  });
});

describe('the reason why the scan stops', () => {
  const reasonOf = (
    change: (bytes: Uint8Array, lastHeader: number) => void,
    options: Partial<ScanOptions> = {},
  ) => {
    const { bytes, ends } = sample();
    change(bytes, ends[1]!);
    return scanSegment(bytes, { ...IDENTITY, ...options }).reason;
  };
  const cases: [ScanReason, (bytes: Uint8Array, at: number) => void][] = [
    ['zero-type', () => {}],
    ['unknown-type', (bytes, at) => bytes.fill(5, at, at + 1)],
    ['reserved-bytes', (bytes, at) => bytes.fill(1, at + 3, at + 4)],
    ['length-beyond-limit', (bytes, at) => bytes.fill(255, at + 4, at + 8)],
    ['data-crc', (bytes, at) => bytes.fill(255, at + 40, at + 41)],
    ['checksum-length', (bytes, at) => bytes.set([9, 0, 0, 0, 5, 0, 0, 0], at)],
    ['checksum-zero', (bytes) => bytes.fill(0, bytes.lastIndexOf(9) + 12)],
    ['checksum-mismatch', (bytes) => bytes.fill(255, bytes.lastIndexOf(9) + 15, bytes.lastIndexOf(9) + 16)],
  ];
  it.each(cases)('%s', (reason, change) => {
    expect(reasonOf(change)).toBe(reason);
  });

  it('a checksum that closes no entry does not move the offset, and the scan continues', () => {
    const bytes = new Uint8Array(64);
    bytes.set([9, 0, 0, 0, 4], 0);
    const running = crc32(bytes, 0, 12, seedCrc(IDENTITY));
    writeU32(bytes, 12, checksumValue(running));
    expect(scanSegment(bytes, IDENTITY)).toEqual({
      status: 'ok',
      offset: 0,
      checksum: 0,
      reason: 'zero-type',
    });
    expect(scanSegment(bytes.subarray(0, 16), IDENTITY)).toMatchObject({ offset: 0, reason: 'end' });
  });
});

describe('certificates and floors', () => {
  it('a closed replica must end exactly where its certificate says, with its checksum', () => {
    const segment = sample();
    const certificate = certificateOf(segment);
    const { ends, bytes } = segment;
    const statusOf = (changed: object, among = bytes) =>
      scanSegment(among, { ...IDENTITY, certificate: { ...certificate, ...changed } });
    expect(statusOf({})).toMatchObject({ status: 'ok', offset: ends[2], reason: 'end' });
    expect(statusOf({ checksum: certificate.checksum ^ 1 })).toMatchObject({
      status: 'corrupt',
      reason: 'certificate-checksum',
    });
    expect(statusOf({ byteLength: ends[1] })).toMatchObject({
      status: 'corrupt',
      reason: 'certificate-checksum',
    });
    expect(statusOf({ byteLength: ends[2]! + 1 })).toMatchObject({
      status: 'corrupt',
      reason: 'certificate-length',
    });
    expect(statusOf({ byteLength: 5000 })).toMatchObject({
      status: 'corrupt',
      reason: 'certificate-length',
    });
    expect(statusOf({}, bytes.subarray(0, ends[2]! - 1))).toMatchObject({
      status: 'corrupt',
      reason: 'certificate-length',
    });
  });

  it('a closed segment without a group has a certificate of zeros', () => {
    const certificate = { byteLength: 0, checksum: 0 };
    expect(scanSegment(new Uint8Array(50), { ...IDENTITY, certificate })).toMatchObject({
      status: 'ok',
      offset: 0,
    });
  });

  it('an open replica below its floor is corrupt', () => {
    const { bytes, ends } = sample();
    const scan = (floorBytes: number) => scanSegment(bytes, { ...IDENTITY, floorBytes });
    expect(scan(ends[2]!)).toMatchObject({ status: 'ok', offset: ends[2] });
    expect(scan(ends[2]! + 1)).toMatchObject({ status: 'corrupt', offset: ends[2], reason: 'below-floor' });
    bytes[ends[1]! + 30]! ^= 1;
    expect(scan(ends[1]!)).toMatchObject({ status: 'ok', offset: ends[1] });
    expect(scan(ends[2]!)).toMatchObject({ status: 'corrupt', offset: ends[1], reason: 'data-crc' });
  });
});
