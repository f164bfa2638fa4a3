import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyKind, decodeBody, encodeBody } from '../src/body.js';
import { FrameReader } from '../src/frame-reader.js';
import * as frames from '../src/frames.js';
import { decodeHello, decodeReject, encodeHello, encodeReject, type Hello } from '../src/hello.js';
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
    const json = encodeBody(1);
    const bytes = encodeBody(Uint8Array.of(0xfe, 0xff));
    expect(frames.encodeMessage(Buffer.from('ab'), json).toString('hex')).toBe(
      '0700000006' + '00' + '02006162' + '31',
    );
    expect(frames.encodeMessage(Buffer.from('ab'), bytes).toString('hex')).toBe(
      '0800000006' + '01' + '02006162' + 'feff',
    );
    expect(frames.encodeRequest(258, Buffer.from('a'), bytes).toString('hex')).toBe(
      '0b00000007' + '02010000' + '01' + '0100' + '61' + 'feff',
    );
    const error = { kind: BodyKind.ERROR, bytes: Buffer.from('{}') };
    expect(frames.encodeReply(1, error).toString('hex')).toBe('0800000008' + '01000000' + '02' + '7b7d');
    expect(frames.encodeReply(1, bytes).toString('hex')).toBe('0800000008' + '01000000' + '01' + 'feff');
    const hello = encodeHello({
      version: 1,
      from: 2,
      to: 3,
      digest: Buffer.alloc(32, 0xdd),
      instance: Buffer.alloc(16, 0xee),
      maxFrameBytes: 0x10_0000,
      levels: { least: 3, most: 0x104 },
      attributes: {},
    });
    expect(hello.toString('hex')).toBe(
      `4f00000001${Buffer.from('RDMCMESH').toString('hex')}0100000002000000` +
        `03000000${'dd'.repeat(32)}${'ee'.repeat(16)}00001000030004017b7d`,
    );
    const connection = { purpose: 'p', id: 'ab'.repeat(16) };
    const further = encodeHello({ ...decodeHello(hello.subarray(5), 1), connection } as Hello);
    expect(further.subarray(13, 17).toString('hex')).toBe('01000100');
    expect(further.subarray(5 + 76).toString()).toBe(JSON.stringify(connection));
    expect(decodeHello(further.subarray(5), 1)).toMatchObject({ connection, attributes: {} });
  });

  it('gives back what was put in', () => {
    const failure = { member: 5, reporter: 2 ** 31 - 1, code: 'ERR_RDMC_X', reason: 'gone ✂' };
    expect(frames.decodeFailure(frames.encodeFailure(failure).subarray(5))).toEqual(failure);
    const reject = { version: 3, code: 'ERR_RDMC_MESH_VERSION', message: 'no' };
    expect(decodeReject(encodeReject(reject).subarray(5))).toEqual(reject);
  });

  it('bodies of JSON and bytes come out of messages, requests and replies as they went in', () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }).filter((json) => !Object.is(json, -0)),
      fc.uint8Array({ maxLength: 200 }),
    );
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 2 ** 32 - 1 }), (given, request) => {
        const topic = Buffer.from('topic');
        const body = encodeBody(given);
        const expected = given instanceof Uint8Array ? given : JSON.parse(JSON.stringify(given));
        const message = frames.decodeMessage(frames.encodeMessage(topic, body).subarray(5));
        const asked = frames.decodeRequest(frames.encodeRequest(request, topic, body).subarray(5));
        const reply = frames.decodeReply(frames.encodeReply(request, body).subarray(5));
        for (const each of [message, asked, reply]) expect(decodeBody(each.body)).toEqual(expected);
        expect([message.topic, asked.topic, asked.request, reply.request]).toEqual([
          'topic',
          'topic',
          request,
          request,
        ]);
      }),
    );
  });

  it('bytes do not keep a chunk alive that is much larger than they are', () => {
    const chunk = Buffer.alloc(64 * 1024, 7);
    const small = decodeBody({ kind: BodyKind.BYTES, bytes: chunk.subarray(0, 100) }) as Uint8Array;
    expect(small.buffer.byteLength).toBe(100);
    const large = decodeBody({ kind: BodyKind.BYTES, bytes: chunk.subarray(100) }) as Uint8Array;
    expect(large.buffer).toBe(chunk.buffer);
    expect(large.length).toBe(chunk.length - 100);
  });

  it.each([2, 3, 255])('a message or request with a body of kind %i is refused', (kind) => {
    const body = { kind, bytes: Buffer.from('{}') };
    const message = frames.encodeMessage(Buffer.from('t'), body).subarray(5);
    const request = frames.encodeRequest(1, Buffer.from('t'), body).subarray(5);
    expect(thrown(() => frames.decodeMessage(message)).code).toBe('ERR_RDMC_MESH_PROTOCOL');
    expect(thrown(() => frames.decodeRequest(request)).code).toBe('ERR_RDMC_MESH_PROTOCOL');
    const reply = { ...body, kind: Math.max(kind, 3) };
    const bytes = frames.encodeReply(1, reply).subarray(5);
    expect(thrown(() => frames.decodeReply(bytes)).code).toBe('ERR_RDMC_MESH_PROTOCOL');
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
