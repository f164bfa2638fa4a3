import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { deflateRawSync } from 'node:zlib';
import { type CastOptions, castFile, castStream } from '@rdmc/cast';
import { temporaryDirectory, thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { codecsHere, commonCodec, compress, decompress } from '../src/compression/codec.js';
import { PiecePacker } from '../src/compression/piece-packer.js';
import { CHUNK_BYTES, KIB, MIB, PROBE_BYTES } from '../src/constants.js';
import { ContentDigest } from '../src/content-digest.js';
import type { CastError } from '../src/errors.js';
import { decodeMessage } from '../src/stream/message-decoder.js';
import type { StreamRecord } from '../src/stream/records.js';
import { fakeReceiver, goAlong } from './support/fake-receiver.js';
import { allMessages, CHECKSUM, MESSAGE_BYTES, readerOf, store } from './support/local-cast.js';
import { startReceivers } from './support/receivers.js';
import { encode } from './support/records.js';
import { describeTree, expectSameTree, seededBytes, write } from './support/tree.js';

/** Zstandard is tested where Node.js has it: `npm run test:nodes`. */
const CODECS = codecsHere();

const codeOf = (work: () => unknown): string => (thrown(work) as CastError).code;

const TIME = { seconds: 1, nanoseconds: 0 };

/** Text that shrinks to a small part. */
function text(length: number): Buffer {
  const line = Array.from({ length: 40 }, (_, word) => `word ${word * 7919} of a log, `).join('');
  return Buffer.from(line.repeat(Math.ceil(length / line.length))).subarray(0, length);
}

/** Files that shrink, files that do not, both in one, and one with holes. */
function sourceTree(): string {
  const from = temporaryDirectory();
  const root = join(from, 'root');
  write(root, 'a-text', text(300_000));
  write(root, 'b-random', seededBytes(150_000, 1));
  write(root, 'c-mixed', Buffer.concat([text(100_000), seededBytes(100_000, 2), text(50_000)]));
  for (let number = 0; number < 20; number += 1) write(root, `d/${number}`, text(number * 97));
  const sparse = openSync(write(root, 'e-sparse', ''), 'w');
  for (const at of [0, 200_000, 900_000]) writeSync(sparse, text(30_000), 0, 30_000, at);
  writeSync(sparse, seededBytes(30_000, 3), 0, 30_000, 500_000);
  closeSync(sparse);
  return from;
}

const recordsOf = (messages: readonly Buffer[]): StreamRecord[] =>
  messages.flatMap((message, sequence) => [...decodeMessage(message, sequence)]);

describe.each(CODECS)('a piece compressed with %s', (codec) => {
  it('becomes what it was', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 3000 }), fc.nat({ max: 40 }), (bytes, times) => {
        const piece = Buffer.concat(Array.from({ length: times + 1 }, () => bytes));
        expect(decompress(codec, compress(codec, piece), piece.length).equals(piece)).toBe(true);
      }),
      { numRuns: 50 },
    );
    const most = text(CHUNK_BYTES);
    expect(decompress(codec, compress(codec, most), CHUNK_BYTES).equals(most)).toBe(true);
  });

  it('is refused where it becomes more or less than was announced, or is malformed', () => {
    const packed = compress(codec, text(100_000));
    const bomb = thrown(() => decompress(codec, compress(codec, Buffer.alloc(64 * MIB)), 1000)) as CastError;
    // It was not decompressed further than that.
    expect(bomb).toMatchObject({
      code: 'ERR_RDMC_DECOMPRESS_FAILED',
      cause: { code: 'ERR_BUFFER_TOO_LARGE' },
    });
    const wrong: [string, Buffer, number][] = [
      ['one byte more', packed, 99_999],
      ['one byte less', packed, 100_001],
      ['a part of it', packed.subarray(0, packed.length - 9), 100_000],
      ['random bytes', seededBytes(1000, 4), 100_000],
      ['nothing', Buffer.alloc(0), 1],
    ];
    for (const [what, bytes, length] of wrong)
      expect(
        codeOf(() => decompress(codec, bytes, length)),
        what,
      ).toBe('ERR_RDMC_DECOMPRESS_FAILED');
  });
});

describe('the codec of a cast', () => {
  it('is the best that all ends have', () => {
    const best = CODECS[0];
    expect(commonCodec([['zstd', 'deflate'], CODECS])).toBe(best);
    expect(commonCodec([['deflate'], ['deflate', 'zstd']])).toBe('deflate');
    expect(commonCodec([['brotli', 'deflate']])).toBe('deflate');
    expect(commonCodec([['deflate'], ['brotli']])).toBeUndefined();
    expect(commonCodec([[]])).toBeUndefined();
  });
});

describe('the packer of a file', () => {
  it('tries less and less of a file that does not shrink, and all of one that does', () => {
    const tries = (piece: Buffer): number[] => {
      const packer = new PiecePacker('deflate');
      const tried: number[] = [];
      for (let offset = 0; offset < 64 * MIB; offset += MIB) {
        if (packer.untried(7, offset) > 0) continue;
        tried.push(offset / MIB);
        packer.pack(7, offset, piece);
      }
      return tried;
    };
    expect(tries(seededBytes(MIB, 5))).toEqual([0, 2, 5, 10, 19, 36]);
    expect(tries(text(64 * KIB))).toHaveLength(64);
  });

  it('begins anew with each file, and does not compress what is too short', () => {
    const packer = new PiecePacker('deflate');
    expect(packer.pack(0, 0, seededBytes(4 * PROBE_BYTES, 6))).toBeUndefined();
    expect(packer.untried(0, 4 * PROBE_BYTES)).toBeGreaterThan(0);
    expect(packer.untried(1, 0)).toBe(0);
    expect(packer.pack(1, 0, text(511))).toBeUndefined();
    expect(packer.untried(1, 511)).toBe(0);
    expect(packer.pack(1, 511, text(512))!.length).toBeLessThan(512);
  });
});

describe.each(CODECS)('a stream compressed with %s', (codec) => {
  it('arrives, takes less room, and has pieces that do not shrink as they are', () => {
    const from = sourceTree();
    const reader = readerOf([join(from, 'root')], undefined, codec);
    const messages = allMessages(reader);
    const records = recordsOf(messages);
    const bytes = messages.reduce((sum, message) => sum + message.length, 0);
    expect(bytes).toBeLessThan(reader.contentBytes / 1.5);
    expect(reader.packedBytes).toBeLessThan(bytes);
    expect(records.some((record) => record.type === 'packed' && record.codec === codec)).toBe(true);
    expect(records.some(({ type }) => type === 'hole')).toBe(true);
    const data = records.filter((record) => record.type === 'data');
    expect(data.reduce((sum, record) => sum + record.data.length, 0)).toBeGreaterThan(150_000);
    const to = temporaryDirectory();
    expect(store(messages, to).problems).toEqual([]);
    expectSameTree(to, from);
  });

  it('is the same, byte by byte, where messages are filled again in whatever order', () => {
    const root = join(sourceTree(), 'root');
    const first = allMessages(readerOf([root], undefined, codec)).map((each) => Buffer.from(each));
    expect(first.length).toBeGreaterThan(4);
    fc.assert(
      fc.property(fc.array(fc.nat({ max: first.length - 1 }), { maxLength: 12 }), (order) => {
        const reader = readerOf([root], undefined, codec);
        let next = 0;
        for (const wanted of [...order, first.length - 1]) {
          for (let at = Math.min(wanted, next); at <= wanted; at += 1) {
            const target = Buffer.alloc(MESSAGE_BYTES);
            expect(target.subarray(0, reader.fill(at, target).bytes).equals(first[at]!)).toBe(true);
            next = Math.max(next, at + 1);
          }
        }
        reader.close();
      }),
      { numRuns: 15 },
    );
  });
});

describe('a compressed piece of a hostile stream', () => {
  const packed = (data: Buffer, length: number): StreamRecord[] => [
    { type: 'fileBegin', index: 0, mode: 0o644, time: TIME, size: 1000, path: Buffer.from('bad') },
    { type: 'packed', index: 0, offset: 0, length, codec: 'deflate', data },
    { type: 'hole', index: 0, offset: length, length: 1000 - length },
    { type: 'fileEnd', index: 0, status: 0, digest: Buffer.alloc(32) },
  ];
  const good = (): StreamRecord[] => {
    const digest = new ContentDigest(CHECKSUM, 1);
    digest.update(Buffer.from('good'));
    return [
      { type: 'fileBegin', index: 1, mode: 0o644, time: TIME, size: 4, path: Buffer.from('good') },
      { type: 'data', index: 1, offset: 0, data: Buffer.from('good') },
      { type: 'fileEnd', index: 1, status: 0, digest: digest.digest() },
    ];
  };
  const end: StreamRecord = {
    ...{ type: 'streamEnd', files: 2, directories: 0, symbolicLinks: 0, hardLinks: 0 },
    bytes: 1000 + 'good'.length,
  };

  it.each([
    ['that is a bomb', deflateRawSync(Buffer.alloc(8 * MIB)).subarray(0, 900), 999],
    ['that is malformed', seededBytes(100, 8), 999],
    ['that is too short', deflateRawSync(Buffer.alloc(500)), 999],
  ])('%s is a problem of its file, and the other files arrive', (_, data, length) => {
    const to = temporaryDirectory();
    const { problems, files } = store([encode([...packed(data, length), ...good(), end], 0)], to);
    expect(problems).toMatchObject([{ path: 'bad', code: 'ERR_RDMC_DECOMPRESS_FAILED' }]);
    expect(files).toBe(1);
  });

  it.each([
    ['larger than a piece may be', Buffer.alloc(10), CHUNK_BYTES + 1],
    ['not smaller than what it becomes', Buffer.alloc(10), 10],
    ['of nothing', Buffer.alloc(0), 0],
  ])('%s is refused', (_, data, length) => {
    const message = encode(packed(data, length).slice(0, 2), 0);
    expect(codeOf(() => [...decodeMessage(message, 0)])).toBe('ERR_RDMC_CAST_PROTOCOL');
  });
});

describe('a compressed cast', () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  it.each<[string, Partial<CastOptions>]>([
    ['', {}],
    [', not encrypted', { encrypt: false, compare: 'none' }],
    [', with SHA-256', { checksum: 'sha256' }],
  ])('arrives%s', async (_, options) => {
    const from = sourceTree();
    const receivers = await startReceivers(2);
    const cast = castFile(join(from, 'root'), {
      to: receivers.map(({ to }) => to),
      compress: true,
      ...options,
    });
    const summary = await cast.finished;
    expect(summary.problems).toEqual([]);
    expect(summary.compressedBytes).toBeLessThan(summary.transferredBytes / 1.5);
    expect(cast.progress?.route).toMatchObject({ compression: CODECS[0] });
    for (const { directory } of receivers) expectSameTree(directory, from);
  });

  it('of an input arrives at a directory and at a sink', async () => {
    const bytes = Buffer.concat([text(3_000_000), seededBytes(2_000_000, 9), text(1_000_000)]);
    const taken: Buffer[] = [];
    const sink = (): Writable =>
      new Writable({
        write(chunk, _, done) {
          taken.push(Buffer.from(chunk));
          done();
        },
      });
    const [one] = await startReceivers(1);
    const [two] = await startReceivers(1, { sink, directory: undefined });
    const chunks = Array.from({ length: 60 }, (_, at) => bytes.subarray(at * 100_000, (at + 1) * 100_000));
    const to = [one!.to, two!.to];
    const { finished } = castStream(Readable.from(chunks), { to, compress: true, name: 'in' });
    const { transferredBytes, compressedBytes } = await finished;
    expect(transferredBytes).toBe(bytes.length);
    // What follows what does not shrink is not tried at once.
    expect(compressedBytes).toBeLessThan(3_200_000);
    expect(Buffer.concat(taken).equals(bytes)).toBe(true);
    const expected = temporaryDirectory();
    write(expected, 'in', bytes);
    expect(describeTree(one!.directory)).toEqual(describeTree(expected));
  });

  it('is refused for a receiver that cannot decompress it, before anything is sent; the others get it', async () => {
    const from = sourceTree();
    const [receiver] = await startReceivers(1);
    // It names no codec.
    const fake = await fakeReceiver(async (channel) => void (await goAlong(channel)));
    closing.push(fake.close);
    const { receivers } = await castFile(join(from, 'root'), { to: [receiver!.to, fake.to], compress: true })
      .finished;
    expect(receivers.map(({ code }) => code)).toEqual([undefined, 'ERR_RDMC_COMPRESSION_UNSUPPORTED']);
    expectSameTree(receiver!.directory, from);
  });

  it('is not possible where receivers may join later', () => {
    const to = [{ host: '127.0.0.1' }];
    expect(codeOf(() => castFile('/dev/null', { to, compress: true, waitFor: 1 }))).toBe(
      'ERR_RDMC_INVALID_OPTION',
    );
  });
});
