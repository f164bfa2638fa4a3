import { describe, expect, it } from 'vitest';
import { EntryReader, EntryWriter } from '../src/layout/entry-ring.js';

const HEAD = 0;
const TAIL = 1;
const CAPACITY = 64;

function ring(): { words: Int32Array; writer: EntryWriter; reader: EntryReader } {
  const words = new Int32Array(2);
  const entries = new Int32Array(CAPACITY * 4);
  return {
    words,
    writer: new EntryWriter(words, HEAD, entries),
    reader: new EntryReader(words, HEAD, TAIL, entries),
  };
}

describe('the ring between application and worker', () => {
  it('shows what is pushed at once', () => {
    const { writer, reader } = ring();
    writer.push(1, 2, 3, 4);
    expect(reader.next()).toBe(true);
    expect([reader.a, reader.b, reader.c, reader.d]).toEqual([1, 2, 3, 4]);
    expect(reader.next()).toBe(false);
  });

  it('shows what is appended when it is published', () => {
    const { writer, reader } = ring();
    writer.append(1, 0, 0, 0);
    expect(reader.next()).toBe(false);
    writer.publish();
    expect(reader.next()).toBe(true);
    expect(reader.a).toBe(1);
  });

  it('publishes after a number of entries without a call', () => {
    const { words, writer } = ring();
    for (let i = 0; i < CAPACITY; i += 1) writer.append(i, 0, 0, 0);
    expect(words[HEAD]).toBe(CAPACITY);
  });

  it('a reader publishes its count when the ring is empty; before, only when asked', () => {
    const { words, writer, reader } = ring();
    for (let i = 0; i < 3; i += 1) writer.push(i, 0, 0, 0);
    reader.next();
    expect(reader.size).toBe(2);
    reader.publish();
    expect(words[TAIL]).toBe(1);
    while (reader.next());
    expect(words[TAIL]).toBe(3);
  });

  it('passes everything in order, also when the counts exceed 2^31', () => {
    const words = Int32Array.of(2 ** 31 - 40, 2 ** 31 - 40);
    const entries = new Int32Array(CAPACITY * 4);
    const writer = new EntryWriter(words, HEAD, entries);
    const reader = new EntryReader(words, HEAD, TAIL, entries);
    let read = 0;
    for (let written = 0; written < 200; ) {
      for (let i = 0; i < CAPACITY - 1 && written < 200; i += 1, written += 1)
        writer.append(written, 0, 0, 0);
      writer.publish();
      while (reader.next()) {
        expect(reader.a).toBe(read);
        read += 1;
      }
    }
    expect(read).toBe(200);
    expect(words[TAIL]).toBe(words[HEAD]);
  });
});
