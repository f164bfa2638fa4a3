import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NONE, RECORD_BYTES, TraceKind } from '../src/trace/layout.js';
import { createTraceRing, TraceRecorder, traceSubject } from '../src/trace/recorder.js';
import { decodeRecord, decodeRecords, encodeRecord } from '../src/trace/records.js';
import { TraceRingReader } from '../src/trace/ring-reader.js';

const CAPACITY = 64;
/** A full ring keeps all but the oldest 1/32. */
const KEPT = 62;
const SUBJECT = traceSubject(1, 7);

function ring() {
  const memory = createTraceRing(CAPACITY);
  let time = 0;
  const clock = (): number => {
    time += 1;
    return time;
  };
  const recorder = new TraceRecorder(memory, 3, clock);
  const reader = new TraceRingReader(memory);
  let written = 0;
  const write = (count: number): void => {
    for (let i = 0; i < count; i += 1) {
      recorder.put(SUBJECT, TraceKind.RECEIVED, 5, written, 2);
      written += 1;
    }
  };
  return { reader, write };
}

const blocksOf = (bytes: Uint8Array): number[] => decodeRecords(bytes).map(({ block }) => block);

it('records have the bytes that the layout shows', () => {
  const bytes = new Uint8Array(RECORD_BYTES);
  const event = {
    ...{ time: 2 ** 40 + 1, member: 9, kind: TraceKind.ANNOUNCED, protocol: 130, group: 2 ** 31 },
    ...{ message: NONE, block: 77, peer: 4 },
  };
  encodeRecord(new DataView(bytes.buffer), 0, event);
  expect(Buffer.from(bytes).toString('hex')).toBe(
    `0010000000007042${'09000000'}${'15820000'}${'00000080'}${'ffffffff'}${'4d000000'}${'04000000'}`,
  );
  expect(decodeRecord(new DataView(bytes.buffer), 0)).toEqual(event);
});

it('a recorder writes what a reader decodes', () => {
  const { reader, write } = ring();
  write(1);
  expect(decodeRecords(reader.take().bytes)).toEqual([
    { time: 1, member: 3, kind: TraceKind.RECEIVED, protocol: 1, group: 7, message: 5, block: 0, peer: 2 },
  ]);
  expect(reader.take()).toEqual({ bytes: new Uint8Array(), dropped: 0 });
});

it('a full ring drops the oldest records and counts them', () => {
  const { reader, write } = ring();
  write(100);
  const { bytes, dropped } = reader.take();
  expect(dropped).toBe(100 - KEPT);
  expect(blocksOf(bytes)).toEqual(Array.from({ length: KEPT }, (_, i) => 100 - KEPT + i));
});

it('loses or repeats nothing that it does not count, wherever a writer overtakes it', () => {
  const step = fc.record({ before: fc.nat(150), during: fc.nat(150) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const { reader, write } = ring();
      let next = 0;
      for (const { before, during } of [...steps, { before: 0, during: 0 }]) {
        write(before);
        const { bytes, dropped } = reader.take(() => write(during));
        const blocks = blocksOf(bytes);
        expect(blocks).toEqual(blocks.map((_, i) => next + dropped + i));
        next += dropped + blocks.length;
      }
      expect(next).toBe(steps.reduce((sum, { before, during }) => sum + before + during, 0));
    }),
  );
});
