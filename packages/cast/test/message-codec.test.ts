import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CastError } from '../src/errors.js';
import { decodeMessage } from '../src/stream/message-decoder.js';
import { MessageEncoder } from '../src/stream/message-encoder.js';
import type { StreamRecord } from '../src/stream/records.js';
import { encode, record } from './support/records.js';

const records = fc.array(record, { maxLength: 12 });
const sequence = fc.integer({ min: 0, max: 2 ** 40 });

/** Decodes a damaged message. Returns the error, or the records where there is none. */
function attempt(message: Buffer, number: number): CastError | StreamRecord[] {
  try {
    return [...decodeMessage(message, number)];
  } catch (error) {
    if (error instanceof CastError) return error;
    throw error;
  }
}

/** The ranges of data: damage there is found by the checksum of the file, not by the decoder. */
function dataRanges(message: Buffer, decoded: readonly StreamRecord[]): [number, number][] {
  return decoded.flatMap((each): [number, number][] => {
    if (!('data' in each)) return [];
    const start = each.data.byteOffset - message.byteOffset;
    return [[start, start + each.data.length]];
  });
}

describe('messages', () => {
  it('decode to the encoded records', () => {
    fc.assert(
      fc.property(records, sequence, (given, number) => {
        expect([...decodeMessage(encode(given, number), number)]).toEqual(given);
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it('are errors when truncated anywhere, or longer than their header says', () => {
    fc.assert(
      fc.property(records, (given) => {
        const message = encode(given, 7);
        for (let length = 0; length < message.length; length += 1) {
          expect(attempt(message.subarray(0, length), 7)).toBeInstanceOf(CastError);
        }
        expect(attempt(Buffer.concat([message, Buffer.of(0)]), 7)).toBeInstanceOf(CastError);
      }),
      { seed: 2, numRuns: 20 },
    );
  });

  it('are errors when any byte except file data differs', () => {
    fc.assert(
      fc.property(records, fc.integer({ min: 1, max: 255 }), (given, difference) => {
        const message = encode(given, 7);
        const inData = dataRanges(message, [...decodeMessage(message, 7)]);
        for (let at = 0; at < message.length; at += 1) {
          if (inData.some(([start, end]) => at >= start && at < end)) continue;
          const damaged = Buffer.from(message);
          damaged[at]! ^= difference;
          expect(attempt(damaged, 7), `byte ${at}`).toBeInstanceOf(CastError);
        }
      }),
      { seed: 3, numRuns: 20 },
    );
  });

  it('of random bytes are errors, also behind a valid header', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.integer({ min: 1, max: 9 }), (noise, count) => {
        expect(attempt(Buffer.from(noise), 0)).toBeInstanceOf(CastError);
        const target = Buffer.alloc(1024);
        const encoder = new MessageEncoder(target);
        target.set(noise, encoder.dataPlace());
        for (let each = 0; each < count; each += 1) encoder.data(0, 0, 10);
        const message = target.subarray(0, encoder.finish(0));
        // The type of the first record becomes any other.
        message[36] = noise[0] ?? 9;
        const decoded = attempt(message, 0);
        expect(decoded instanceof CastError || message[36] === 3).toBe(true);
      }),
      { seed: 4, numRuns: 200 },
    );
  });

  it('of another sequence number or version are refused; the error has both versions', () => {
    const message = encode([], 5);
    expect(attempt(message, 6)).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL' });
    message.writeUInt16LE(300, 4);
    const error = attempt(message, 5);
    expect(error).toMatchObject({ code: 'ERR_RDMC_VERSION_MISMATCH' });
    expect((error as CastError).message).toMatch(/version 300.*uses 3/);
  });

  it.each(['/etc/passwd', '../up', 'a/../b', '.', '..', 'a//b', 'a/', 'a/.', '', 'a\0b', '.rdmc-cast-x/0'])(
    'with the path %j are refused as unsafe',
    (text) => {
      const path = Buffer.from(text);
      const time = { seconds: 0, nanoseconds: 0 };
      const each = { index: 0, mode: 0, time, size: 0, path };
      for (const type of ['directory', 'fileBegin'] as const) {
        expect(attempt(encode([{ type, ...each }], 0), 0)).toMatchObject({ code: 'ERR_RDMC_UNSAFE_PATH' });
      }
      const good = Buffer.from('good');
      const links: StreamRecord[] = [
        { type: 'symbolicLink', index: 0, time, path, target: good },
        { type: 'hardLink', index: 0, targetIndex: 0, path, targetPath: good },
        { type: 'hardLink', index: 0, targetIndex: 0, path: good, targetPath: path },
      ];
      for (const link of links) {
        expect(attempt(encode([link], 0), 0)).toMatchObject({ code: 'ERR_RDMC_UNSAFE_PATH' });
      }
    },
  );

  it('with names of 255 bytes and paths of 4096 pass, longer ones do not', () => {
    const time = { seconds: 0, nanoseconds: 0 };
    const tryPath = (path: Buffer) =>
      attempt(encode([{ type: 'directory', index: 0, mode: 0, time, path }], 0), 0);
    const name = 'n'.repeat(255);
    const path = Buffer.from(`${`${name}/`.repeat(15)}${name}`);
    expect(tryPath(Buffer.from(name))).toHaveLength(1);
    expect(tryPath(path)).toHaveLength(1);
    expect(tryPath(Buffer.from(`${name}n`))).toMatchObject({ code: 'ERR_RDMC_UNSAFE_PATH' });
    expect(tryPath(Buffer.concat([path, Buffer.from('/nn')]))).toMatchObject({
      code: 'ERR_RDMC_UNSAFE_PATH',
    });
  });
});
