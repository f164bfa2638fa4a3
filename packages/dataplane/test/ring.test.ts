import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxPayloadBytes, RECORD_HEADER_BYTES, RingReader, RingWriter, ringDepth } from '../src/ring.js';
import { transpile } from './transpile.js';

const RING_BYTES = 4096;

function ring(start = 0) {
  const words = new Int32Array(new SharedArrayBuffer(8)).fill(start);
  const memory = { data: new SharedArrayBuffer(RING_BYTES), words, head: 0, tail: 1 };
  return { memory, writer: new RingWriter(memory), reader: new RingReader(memory) };
}

function bytes(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 0xff);
}

describe('one thread', () => {
  it('returns records as they were written, in order, and holds no more than the ring', () => {
    const operation = fc.oneof(
      fc.record({ write: fc.integer({ min: 0, max: maxPayloadBytes(RING_BYTES) }) }),
      fc.constant({ write: -1 }),
    );
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 300 }), fc.boolean(), (operations, nearOverflow) => {
        const { memory, writer, reader } = ring(nearOverflow ? -800 : 0);
        const model: { tag: number; request: number; payload: Uint8Array }[] = [];
        let written = 0;
        const read = () => {
          const expected = model.shift();
          expect(reader.next()).toBe(expected !== undefined);
          if (!expected) return;
          expect(reader.tag).toBe(expected.tag);
          expect(reader.request).toBe(expected.request);
          expect(Buffer.compare(reader.payload, expected.payload)).toBe(0);
        };
        for (const { write } of operations) {
          if (write < 0) read();
          else {
            written += 1;
            const record = {
              tag: (written * 0x10001) >>> 0,
              request: written,
              payload: bytes(write, written),
            };
            if (writer.tryWrite(record.tag, record.request, record.payload)) model.push(record);
            else expect(model.length).toBeGreaterThan(0);
          }
          expect(ringDepth(memory.words, 0, 1)).toBeLessThanOrEqual(RING_BYTES);
          expect(reader.empty).toBe(model.length === 0);
        }
        while (model.length > 0) read();
        reader.release();
        expect(ringDepth(memory.words, 0, 1)).toBe(0);
      }),
    );
  });

  it('always has room for the largest record once it is empty', () => {
    const { writer, reader } = ring();
    const largest = bytes(writer.maxPayload, 1);
    for (let i = 0; i < RING_BYTES / 8 + 1; i += 1) {
      expect(writer.tryWrite(1, 1, bytes(i % 5, i))).toBe(true);
      expect(reader.next()).toBe(true);
      expect(writer.tryWrite(2, 2, largest)).toBe(true);
      expect(reader.next()).toBe(true);
      expect(reader.payload.byteLength).toBe(largest.byteLength);
    }
  });

  it('refuses a record that is too long for its size, and does not change', () => {
    const { memory, writer } = ring();
    expect(() => writer.tryWrite(1, 1, new Uint8Array(writer.maxPayload + 1))).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_RECORD_TOO_LARGE' }),
    );
    expect(ringDepth(memory.words, 0, 1)).toBe(0);
  });

  it('gives copies: a record outlives its ring', () => {
    const { memory, writer, reader } = ring();
    writer.tryWrite(1, 1, bytes(100, 3));
    reader.next();
    const { payload } = reader;
    new Uint8Array(memory.data).fill(0xee);
    expect(Buffer.compare(payload, bytes(100, 3))).toBe(0);
    expect(payload.buffer).toBeInstanceOf(ArrayBuffer);
  });

  it('keeps a record in place until the next one is taken, or it is released', () => {
    const { memory, writer, reader } = ring();
    const row = Float64Array.of(0.5, -0, Number.NaN);
    writer.tryWrite(1, 1, new Uint8Array(row.buffer));
    writer.tryWrite(1, 2);
    reader.next();
    const depth = ringDepth(memory.words, 0, 1);
    expect([0, 1, 2].map((index) => reader.number(index))).toEqual([...row]);
    expect(ringDepth(memory.words, 0, 1)).toBe(depth);
    reader.next();
    expect(ringDepth(memory.words, 0, 1)).toBe(RECORD_HEADER_BYTES);
    reader.release();
    expect(ringDepth(memory.words, 0, 1)).toBe(0);
  });
});

describe('two threads', () => {
  const compiled = transpile('ring', 'record-codec', 'constants', 'errors');

  it('loses, doubles and reorders nothing with records of random sizes', async () => {
    const count = process.env.RDMC_TEST_LONG === '1' ? 60_000 : 20_000;
    const { memory, reader } = ring(-1600);
    const worker = new Worker(new URL('./fixtures/ring-writer.mjs', import.meta.url), {
      workerData: { memory, count, ring: pathToFileURL(join(compiled, 'ring.js')).href },
    });
    const failed = new Promise<never>((_, reject) => worker.once('error', reject));
    const bytesRead = new Promise<number>((resolve, reject) => {
      let received = 0;
      let total = 0;
      const drain = () => {
        for (let taken = 0; taken < 1000 && reader.next(); taken += 1) {
          const { payload, request, tag } = reader;
          const wrong = payload.findIndex((byte, i) => byte !== ((i * 31 + received) & 0xff));
          if (request !== received || tag !== (received ^ 0xabcd) || wrong >= 0) {
            reject(new Error(`record ${received} came as ${request}, tag ${tag}, byte ${wrong} differs`));
            return;
          }
          received += 1;
          total += payload.byteLength;
        }
        if (received === count) resolve(total);
        else setImmediate(drain);
      };
      drain();
    });
    const written = new Promise<number>((resolve) => worker.once('message', resolve));
    expect(await Promise.race([bytesRead, failed])).toBe(await written);
    await worker.terminate();
  });
});
