import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader } from '../src/frame-reader.js';
import * as frames from '../src/frames.js';
import { decodeHello, decodeReject, encodeHello, encodeReject } from '../src/hello.js';
import { MeshError } from '../src/index.js';
import { thrown } from './helpers.js';

const LIMIT = 300;

function readAll(reader: FrameReader): frames.Frame[] {
  const out: frames.Frame[] = [];
  for (let frame = reader.next(); frame !== undefined; frame = reader.next()) out.push(frame);
  return out;
}

describe('FrameReader', () => {
  it('returns the same frames however the stream is cut', () => {
    const frame = fc.record({
      type: fc.integer({ min: 0, max: 255 }),
      payload: fc.uint8Array({ maxLength: 299 }),
    });
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 12 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 70 })),
        (list, cuts) => {
          const stream = Buffer.concat(
            list.map(({ type, payload }) => frames.encodeFrame(type, Buffer.from(payload))),
          );
          const reader = new FrameReader(LIMIT);
          const seen: frames.Frame[] = [];
          for (let at = 0; at < stream.length; ) {
            const bytes = cuts.next().value;
            reader.push(stream.subarray(at, at + bytes));
            at += bytes;
            seen.push(...readAll(reader));
          }
          expect(seen.map(({ type, payload }) => [type, [...payload]])).toEqual(
            list.map(({ type, payload }) => [type, [...payload]]),
          );
          expect(reader.bufferedBytes).toBe(0);
        },
      ),
    );
  });

  it('never keeps more than a frame and a chunk, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 64 }), { maxLength: 64 }), (chunks) => {
        const reader = new FrameReader(LIMIT);
        try {
          for (const chunk of chunks) {
            reader.push(Buffer.from(chunk));
            readAll(reader);
            expect(reader.bufferedBytes).toBeLessThanOrEqual(LIMIT + 4);
          }
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_RDMC_MESH_PROTOCOL' });
        }
      }),
    );
  });

  it('refuses a frame without a type', () => {
    const reader = new FrameReader(LIMIT);
    reader.push(Buffer.alloc(4));
    expect(() => reader.next()).toThrow(expect.objectContaining({ code: 'ERR_RDMC_MESH_PROTOCOL' }));
  });

  it('takes a frame of exactly the limit and refuses one byte more by its length alone', () => {
    const reader = new FrameReader(LIMIT);
    reader.push(frames.encodeFrame(6, Buffer.alloc(LIMIT - 1)));
    expect(reader.next()?.payload.length).toBe(LIMIT - 1);
    reader.push(frames.encodeFrame(6, Buffer.alloc(LIMIT)).subarray(0, 4));
    expect(thrown(() => reader.next()).code).toBe('ERR_RDMC_MESH_PROTOCOL');
  });
});

describe('layouts', () => {
  it('is pinned byte by byte', () => {
    expect(frames.encodeFrame(4).toString('hex')).toBe('0100000004');
    expect(frames.encodeMessage(Buffer.from('ab'), Buffer.from('1')).toString('hex')).toBe(
      '060000000602006162' + '31',
    );
    expect(frames.encodeRequest(258, Buffer.from('a'), Buffer.from('1')).toString('hex')).toBe(
      '0900000007' + '02010000' + '0100' + '61' + '31',
    );
    expect(frames.encodeReply(1, true, Buffer.from('{}')).toString('hex')).toBe(
      '0800000008' + '01000000' + '01' + '7b7d',
    );
    const hello = encodeHello({
      version: 1,
      from: 2,
      to: 3,
      digest: Buffer.alloc(32, 0xdd),
      instance: Buffer.alloc(16, 0xee),
      maxFrameBytes: 0x10_0000,
      attributes: {},
    });
    expect(hello.toString('hex')).toBe(
      `4b00000001${Buffer.from('RDMCMESH').toString('hex')}0100000002000000` +
        `03000000${'dd'.repeat(32)}${'ee'.repeat(16)}000010007b7d`,
    );
  });

  it('gives back what was put in', () => {
    const failure = { member: 5, reporter: 2 ** 31 - 1, code: 'ERR_RDMC_X', reason: 'gone ✂' };
    expect(frames.decodeFailure(frames.encodeFailure(failure).subarray(5))).toEqual(failure);
    const reject = { version: 3, code: 'ERR_RDMC_MESH_VERSION', message: 'no' };
    expect(decodeReject(encodeReject(reject).subarray(5))).toEqual(reject);
  });

  it('decoders throw nothing but ERR_RDMC_MESH_PROTOCOL, whatever they are given', () => {
    const decoders: ((payload: Buffer) => unknown)[] = [
      frames.decodeMessage,
      frames.decodeRequest,
      frames.decodeReply,
      frames.decodeFailure,
      frames.decodeAbort,
      frames.decodeErrorBody,
      decodeReject,
      (payload) => decodeHello(payload, 1),
      (payload) => decodeHello(Buffer.concat([Buffer.from('RDMCMESH\x01\0\0\0'), payload]), 1),
    ];
    let refusals = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
        for (const decode of decoders) {
          try {
            decode(Buffer.from(bytes));
          } catch (error) {
            refusals += 1;
            expect(error).toBeInstanceOf(MeshError);
            expect((error as MeshError).code).toBe('ERR_RDMC_MESH_PROTOCOL');
          }
        }
      }),
    );
    expect(refusals).toBeGreaterThan(0);
  });
});
