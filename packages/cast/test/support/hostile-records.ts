import { crc32, deflateRawSync } from 'node:zlib';
import type { Random } from '@rdmc/testing';
import { ContentDigest } from '../../src/content-digest.js';
import * as layout from '../../src/stream/layout.js';
import type { StreamRecord } from '../../src/stream/records.js';
import { CHECKSUM } from './local-cast.js';

const NAMES = ['a', 'b', 'trap', 'kept', '.', '..', '', '.rdmc-cast-x', 'n'.repeat(256), 'x\0y', 'Ã'];
const SIZES = [0, 1, 3, 16_384, 2 ** 32, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER];

/** Paths that lead where they must not. */
const ESCAPES = [
  '../up',
  '../outside/precious',
  'a/../../up',
  '/tmp/rdmc-up',
  'trap/../../up',
  './../up',
  'a/..',
];

/** A path that is mostly valid. */
function path(random: Random): Buffer {
  const kind = random.below(8);
  if (kind === 0) return Buffer.from(random.of(ESCAPES));
  const names = kind === 1 ? NAMES : ['a', 'b', 'c', 'trap', 'kept'];
  return Buffer.from(random.some(3, () => random.of(names)).join('/'));
}

function common(random: Random, index: number) {
  const time = { seconds: random.of([0, -1, 2 ** 40]), nanoseconds: random.of([0, 999_999_999]) };
  return { index, mode: random.of([0, 0o700, 0o7777, 0xffff_ffff]), time, path: path(random) };
}

/** A file whose pieces and digest are mostly right. */
function file(random: Random, index: number): StreamRecord[] {
  const pieces: StreamRecord[] = [];
  const content = new ContentDigest(CHECKSUM, index);
  let offset = 0;
  for (const length of random.some(4, () => random.of(SIZES))) {
    if (length === 16_384) {
      const data = random.of([deflateRawSync(Buffer.alloc(length)), Buffer.alloc(9)]);
      pieces.push({ type: 'packed', index, offset, length, codec: random.of(['zstd', 'deflate']), data });
      content.hole(length);
    } else if (length <= 3 && length > 0) {
      const data = Buffer.alloc(length, 'x');
      pieces.push({ type: 'data', index, offset, data });
      content.update(data);
    } else {
      if (offset + length > Number.MAX_SAFE_INTEGER) break;
      const type = random.of(['hole', 'hole', 'hole', 'keep'] as const);
      pieces.push({ type, index, offset, length });
      content.hole(length);
    }
    offset += length;
  }
  const size = random.below(5) > 0 ? offset : random.of(SIZES);
  const digest = random.below(5) > 0 ? content.digest() : Buffer.alloc(layout.DIGEST_BYTES, 1);
  const status = random.of([0, 0, 0, 1, 2] as const);
  return [
    { type: 'fileBegin', ...common(random, index), size },
    ...pieces,
    { type: 'fileEnd', index, status, digest },
  ];
}

function other(random: Random, index: number): StreamRecord {
  const facts = common(random, index);
  return random.of<StreamRecord>([
    { type: 'directory', ...facts },
    { type: 'symbolicLink', ...facts, target: random.of([path(random), Buffer.from('/tmp')]) },
    { type: 'hardLink', index, path: facts.path, targetIndex: random.below(5), targetPath: path(random) },
    { type: 'hole', index, offset: 0, length: random.of(SIZES) },
    { type: 'streamEnd', files: 1, directories: 1, symbolicLinks: 0, hardLinks: 0, bytes: 0 },
  ]);
}

/** Records of any types in any order. */
export function hostileRecords(random: Random): StreamRecord[] {
  let index = 0;
  const entries = random.some(8, () => {
    if (random.below(10) > 0) index += 1;
    return random.below(2) === 0 ? file(random, index) : [other(random, index)];
  });
  const records = entries.flat();
  // Sometimes a record is missing.
  return random.below(3) > 0 ? records : records.filter(() => random.below(6) > 0);
}

/** Offsets of the records of a message, as far as their lengths are valid. */
function recordStarts(message: Buffer): number[] {
  const starts: number[] = [];
  for (let at = layout.MESSAGE_HEADER_BYTES; at + layout.RECORD_HEADER_BYTES <= message.length; ) {
    starts.push(at);
    const lengths =
      message.readUInt32LE(at + layout.FIELD_BYTES_AT) + message.readUInt32LE(at + layout.DATA_BYTES_AT);
    at += layout.RECORD_HEADER_BYTES + lengths;
  }
  return starts;
}

/** Gives a record another type, or moves the border between its fields and what follows. */
export function relabelled(message: Buffer, random: Random): Buffer {
  const starts = recordStarts(message);
  if (starts.length === 0) return message;
  const at = random.of(starts);
  if (random.below(2) === 0) message.writeUInt32LE(random.below(10), at + layout.TYPE_AT);
  else message.writeUInt32LE(random.below(48), at + layout.FIELD_BYTES_AT);
  return message;
}

/** Recomputes the checksums of a damaged message, so that the checks behind them are tested. */
export function repaired(message: Buffer): Buffer {
  if (message.length < layout.MESSAGE_HEADER_BYTES) return message;
  message.writeUInt32LE(crc32(message.subarray(0, layout.HEADER_CRC_AT)), layout.HEADER_CRC_AT);
  for (const at of recordStarts(message)) {
    const fieldsEnd = at + layout.RECORD_HEADER_BYTES + message.readUInt32LE(at + layout.FIELD_BYTES_AT);
    if (fieldsEnd > message.length) break;
    message.writeUInt32LE(crc32(message.subarray(at + layout.TYPE_AT, fieldsEnd)), at);
  }
  return message;
}
