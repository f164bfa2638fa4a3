import { decodeObject, decodeTombstone, EntryType, encodeObject, encodeTombstone } from '@rdmc/tailwind';
import {
  decodeDigest,
  decodeSegmentHeader,
  encodeDigest,
  encodeSegmentHeader,
  SegmentWriter,
  scanSegment,
  segmentEntries,
} from '@rdmc/tailwind/format';
import { expect, it } from 'vitest';
import { crc32 } from '../src/format/crc32.js';

const IDENTITY = {
  logId: 0x1122_3344_5566_7788n,
  segmentId: 0x99aa_bbcc_ddee_ff00n,
  incarnation: 0xdead_beef,
};

/** Computed independently, by a few lines of Python with struct and zlib. */
const GOLDEN =
  '0100000018000000f6ceeb2e887766554433221100ffeeddccbbaa99efbeadde00008000' +
  '0400000010000000a5225471050000000000000000ffeeddccbbaa99' +
  '0900000004000000000000007dda4c24' +
  '020000001400000061c3783a0700000000000000030000006b657976616c7565' +
  '030000001300000013592714010000000200000005000000000000006f6c64' +
  '020000000c00000091b0d97d080000000000000000000000' +
  '09000000040000000000000069140930';

function writeGolden(bytes: Uint8Array): SegmentWriter {
  const writer = new SegmentWriter(bytes, IDENTITY);
  writer.append(
    EntryType.SEGMENT_HEADER,
    encodeSegmentHeader({ ...IDENTITY, segmentBytes: 8 * 1024 * 1024 }),
  );
  writer.append(EntryType.LOG_DIGEST, encodeDigest([5n, IDENTITY.segmentId]));
  expect(writer.seal()).toEqual({ offset: 0, byteLength: 80 });
  writer.append(EntryType.OBJECT, ...encodeObject(7, Buffer.from('key'), Buffer.from('value')));
  writer.append(EntryType.TOMBSTONE, ...encodeTombstone(2 ** 33 + 1, 5n, Buffer.from('old')));
  writer.append(EntryType.OBJECT, ...encodeObject(8, new Uint8Array(0), new Uint8Array(0)));
  expect(writer.seal()).toEqual({ offset: 80, byteLength: 103 });
  return writer;
}

it('writes the golden bytes of format version 1', () => {
  const bytes = new Uint8Array(200);
  const writer = writeGolden(bytes);
  expect(Buffer.from(bytes.subarray(0, 183)).toString('hex')).toBe(GOLDEN);
  expect(writer.checksum).toBe(0x3009_1469);
  expect(bytes.subarray(183).every((byte) => byte === 0)).toBe(true);
});

it('scans the golden bytes and finds what was written', () => {
  const bytes = Buffer.concat([Buffer.from(GOLDEN, 'hex'), Buffer.alloc(17)]);
  expect(scanSegment(bytes, IDENTITY)).toEqual({
    status: 'ok',
    offset: 183,
    checksum: 0x3009_1469,
    reason: 'zero-type',
  });
  const entries = [...segmentEntries(bytes, 183)];
  expect(entries.map(({ type, offset }) => [type, offset])).toEqual([
    [1, 0],
    [4, 36],
    [9, 64],
    [2, 80],
    [3, 112],
    [2, 143],
    [9, 167],
  ]);
  expect(decodeSegmentHeader(entries[0]!.payload)).toEqual({ ...IDENTITY, segmentBytes: 8 * 1024 * 1024 });
  expect(decodeDigest(entries[1]!.payload)).toEqual([5n, IDENTITY.segmentId]);
  const object = decodeObject(entries[3]!.payload);
  expect([object.version, Buffer.from(object.key).toString(), Buffer.from(object.value).toString()]).toEqual([
    7,
    'key',
    'value',
  ]);
  const tombstone = decodeTombstone(entries[4]!.payload);
  expect([tombstone.version, tombstone.segmentId, Buffer.from(tombstone.key).toString()]).toEqual([
    2 ** 33 + 1,
    5n,
    'old',
  ]);
});

it('stores 1 where the running CRC is 0, and accepts no 0 in its place', () => {
  // This incarnation was solved for: one empty object and its checksum make the running CRC 0.
  const identity = { logId: 1n, segmentId: 2n, incarnation: 0xbe1f_e2a9 };
  const bytes = new Uint8Array(40);
  const writer = new SegmentWriter(bytes, identity);
  writer.append(EntryType.OBJECT);
  writer.seal();
  expect(writer.checksum).toBe(1);
  expect(scanSegment(bytes, identity)).toEqual({
    status: 'ok',
    offset: 28,
    checksum: 1,
    reason: 'zero-type',
  });
  bytes[24] = 0;
  expect(scanSegment(bytes, identity)).toEqual({
    status: 'ok',
    offset: 0,
    checksum: 0,
    reason: 'checksum-zero',
  });
});

it('computes CRC-32 on both sides of the length where zlib takes over', () => {
  // The check value of CRC-32/ISO-HDLC, whole and in two parts.
  const digits = Buffer.from('123456789');
  expect(crc32(digits, 0, 9, 0)).toBe(0xcbf4_3926);
  expect(crc32(digits, 4, 9, crc32(digits, 0, 4, 0))).toBe(0xcbf4_3926);
  const bytes = Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 167) & 255));
  for (let length = 0; length < 500; length += 1) {
    const half = length >> 1;
    // Byte by byte only the tables are used; in one go it is zlib’s from 384 bytes on.
    let stepwise = 0;
    for (let at = 0; at < length; at += 1) stepwise = crc32(bytes, at, at + 1, stepwise);
    expect(crc32(bytes, 0, length, 0)).toBe(stepwise);
    expect(crc32(bytes, half, length, crc32(bytes, 0, half, 0))).toBe(stepwise);
  }
});

it('refuses an entry if it and its checksum do not fit, and writes nothing', () => {
  const bytes = new Uint8Array(60);
  const writer = new SegmentWriter(bytes, IDENTITY);
  expect(writer.fits(32)).toBe(true);
  expect(writer.fits(33)).toBe(false);
  expect(() => writer.append(EntryType.OBJECT, new Uint8Array(33))).toThrow(
    expect.objectContaining({ code: 'ERR_RDMC_SEGMENT_FULL' }),
  );
  expect(bytes.every((byte) => byte === 0)).toBe(true);
  writer.append(EntryType.OBJECT, new Uint8Array(32).fill(9));
  writer.seal();
  expect(writer.sealedBytes).toBe(60);
  expect(scanSegment(bytes, IDENTITY)).toMatchObject({ offset: 60, reason: 'end' });
  expect(writer.seal()).toBeUndefined();
});

it('writes a run of entries as it writes the same entries one by one, whatever their checksums were', () => {
  const [one, two, source] = [0, 1, 2].map(() => new Uint8Array(128));
  const entries = [
    [EntryType.OBJECT, encodeObject(7, Buffer.from('key'), Buffer.from('value'))],
    [EntryType.TOMBSTONE, encodeTombstone(2 ** 33 + 1, 5n, Buffer.from('old'))],
    [EntryType.OBJECT, encodeObject(8, new Uint8Array(0), new Uint8Array(0))],
  ] as const;
  const [first, second, other] = [one!, two!, source!].map((bytes) => new SegmentWriter(bytes, IDENTITY));
  for (const [type, parts] of entries) other!.append(type, ...parts);
  const offsets = entries.map(([type, parts]) => first!.append(type, ...parts));
  for (const at of offsets) source!.fill(0xff, at + 8, at + 12);
  const run = source!.subarray(0, other!.position);
  const found: number[] = [];
  second!.appendRun(run, found);
  expect(found).toEqual(offsets);
  expect([first!.seal(), first!.checksum]).toEqual([second!.seal(), second!.checksum]);
  expect(two).toEqual(one);
  const full = () => second!.appendRun(run, []);
  expect(full).toThrow(expect.objectContaining({ code: 'ERR_RDMC_SEGMENT_FULL' }));
  expect(two).toEqual(one);
});

it.each([
  ['logId', { ...IDENTITY, logId: -1n }],
  ['logId', { ...IDENTITY, logId: 1n << 64n }],
  ['segmentId', { ...IDENTITY, segmentId: 5 as unknown as bigint }],
  ['incarnation', { ...IDENTITY, incarnation: 2 ** 32 }],
])('refuses an identity whose %s is out of range', (name, identity) => {
  for (const act of [
    () => scanSegment(new Uint8Array(9), identity),
    () => new SegmentWriter(new Uint8Array(9), identity),
  ]) {
    expect(act).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION', message: expect.stringContaining(name) }),
    );
  }
});

it('refuses malformed payloads although their checksums match', () => {
  const damaged = expect.objectContaining({ code: 'ERR_RDMC_ENTRY_DAMAGED' });
  const longKey = Buffer.concat(encodeObject(1, Buffer.from('key'), new Uint8Array(0)));
  longKey[8] = 4;
  const highVersion = Buffer.concat(encodeObject(1, Buffer.from('key'), new Uint8Array(0)));
  highVersion[7] = 1;
  expect(() => decodeObject(longKey)).toThrow(damaged);
  expect(() => decodeObject(highVersion)).toThrow(damaged);
  expect(() => decodeObject(new Uint8Array(11))).toThrow(damaged);
  expect(() => decodeTombstone(new Uint8Array(15))).toThrow(damaged);
  expect(() => decodeSegmentHeader(new Uint8Array(23))).toThrow(damaged);
  expect(() => decodeDigest(new Uint8Array(9))).toThrow(damaged);
  expect(() => decodeDigest(encodeDigest([3n, 3n]))).toThrow(damaged);
  expect(() => encodeObject(2 ** 53, new Uint8Array(0), new Uint8Array(0))).toThrow(
    expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }),
  );
});
