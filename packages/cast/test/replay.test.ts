import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  openSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamReader } from '../src/reader/stream-reader.js';
import { decodeMessage } from '../src/stream/message-decoder.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import { allMessages, CHECKSUM, MESSAGE_BYTES, readerOf, store } from './support/local-cast.js';
import { describeTree, expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

function fill(reader: StreamReader, sequence: number): Buffer {
  const buffer = Buffer.alloc(MESSAGE_BYTES);
  return buffer.subarray(0, reader.fill(sequence, buffer).bytes);
}

/** More bytes than five messages hold, and `small` files after them. */
function sourceTree(small = 100): { from: string; root: string } {
  const from = temporaryDirectory();
  const root = join(from, 'root');
  write(root, 'a', seededBytes(150_000, 1));
  write(root, 'b', seededBytes(10, 2));
  write(root, 'c', seededBytes(100_000, 3));
  const file = openSync(write(root, 'd-sparse', ''), 'w');
  for (const at of [100_000, 400_000]) writeSync(file, seededBytes(40_000, at), 0, 40_000, at);
  closeSync(file);
  for (let number = 0; number < small; number += 1) write(root, `e/${number}`, seededBytes(number, number));
  write(root, 'f', '');
  return { from, root };
}

describe('a message that is filled again', () => {
  it('is the same, byte by byte, in whatever order', () => {
    const { root } = sourceTree();
    const first = allMessages(readerOf([root]));
    fc.assert(
      fc.property(fc.array(fc.nat({ max: first.length - 1 }), { maxLength: 20 }), (backTo) => {
        const reader = readerOf([root]);
        let next = 0;
        for (const back of [...backTo, first.length]) {
          // Forward to some message, then back to another.
          for (; next < Math.max(back, first.length - 1 - back); next += 1) {
            expect(fill(reader, next).equals(first[next]!)).toBe(true);
          }
          next = Math.min(next, back);
        }
        reader.close();
      }),
      { seed: 6, numRuns: 20 },
    );
  });

  it('can be forgotten', () => {
    const { root } = sourceTree();
    const reader = readerOf([root]);
    const first = [0, 1, 2, 3].map((sequence) => fill(reader, sequence));
    reader.forget(2);
    expect(fill(reader, 2).equals(first[2]!)).toBe(true);
    expect(fill(reader, 3).equals(first[3]!)).toBe(true);
    reader.close();
  });

  it('is empty beyond the end', () => {
    const { root } = sourceTree();
    const count = allMessages(readerOf([root])).length;
    const reader = readerOf([root]);
    for (let sequence = 0; sequence < count; sequence += 1) fill(reader, sequence);
    const buffer = Buffer.alloc(MESSAGE_BYTES);
    for (const sequence of [count, count + 1, count + 5]) {
      expect(reader.fill(sequence, buffer)).toMatchObject({ bytes: 0, last: true });
    }
    expect(reader.messages).toBe(count);
  });
});

/** Casts with a change of file `name` just before the given offset of it is read. */
function castWithChange(name: string, offset: number, change: (path: string) => void) {
  const { from, root } = sourceTree();
  const path = join(root, name);
  let changed = false;
  const reader = readerOf([root], (read, at) => {
    if (changed || read.toString() !== path || at < offset) return;
    changed = true;
    change(path);
  });
  const messages = allMessages(reader);
  const to = temporaryDirectory();
  const report = store(messages, to);
  expect(changed).toBe(true);
  return { reader, to, from, report };
}

describe('a file that changes while it is read', () => {
  it.each<[string, string, number, (path: string) => void]>([
    ['grows', 'a', 0, (path) => appendFileSync(path, 'more')],
    ['grows between two messages', 'a', 70_000, (path) => appendFileSync(path, 'more')],
    ['shrinks', 'a', 0, (path) => truncateSync(path, 50_000)],
    ['shrinks to nothing in the middle', 'c', 40_000, (path) => truncateSync(path, 0)],
    ['is written to in place', 'a', 65_000, (path) => overwrite(path)],
    ['gets another time', 'b', 0, (path) => utimesSync(path, 1, 1)],
    ['is replaced by a new one', 'a', 70_000, (path) => replace(path)],
    ['with holes shrinks', 'd-sparse', 200_000, (path) => truncateSync(path, 100_000)],
    [
      'with holes has them filled',
      'd-sparse',
      16_384,
      (path) => writeFileSync(path, seededBytes(440_000, 9)),
    ],
  ])('%s: is named and discarded, the rest arrives', (_name, file, offset, change) => {
    const { reader, to, from, report } = castWithChange(file, offset, change);
    expect(reader.problems.kept).toMatchObject([{ path: `root/${file}`, code: 'ERR_RDMC_FILE_CHANGED' }]);
    expect(report.problems).toEqual([]);
    const expected = describeTree(from);
    expected.delete(`root/${file}`);
    expect(describeTree(to)).toEqual(expected);
    expect(reader.totals.files).toBe(report.files + 1);
    expect(reader.totals.bytes).toBe(report.bytes);
  });

  it('or vanishes before it is read is named; a link to it as well', () => {
    const { root, from } = sourceTree();
    const reader = readerOf([root]);
    fill(reader, 0);
    unlinkSync(join(root, 'c'));
    const messages = [fill(reader, 0), fill(reader, 1)];
    while (reader.messages !== messages.length) messages.push(fill(reader, messages.length));
    const to = temporaryDirectory();
    const report = store(messages, to);
    expect(reader.problems.kept).toMatchObject([{ path: 'root/c', code: 'ERR_RDMC_FILE_CHANGED' }]);
    expect(report.problems).toEqual([]);
    expectNames(to, from);
  });

  it.each([0, 1, 2, 3, 4])(
    'between two readings, when message %i is filled again: survivors agree',
    (back) => {
      for (const name of ['a', 'b', 'c', 'd-sparse', 'e/7']) {
        const { root } = sourceTree(10);
        const reader = readerOf([root]);
        const last = 5;
        const early = Array.from({ length: last }, (_, sequence) => fill(reader, sequence));
        const before = describeTree(root).get(name);
        appendFileSync(join(root, name), 'changed');
        // One survivor has all messages up to the last; the other lacks those from `back` on.
        const here = temporaryDirectory();
        const there = temporaryDirectory();
        const writers = [
          new StreamWriter(here, randomUUID(), CHECKSUM),
          new StreamWriter(there, randomUUID(), CHECKSUM),
        ];
        for (const [sequence, message] of early.entries()) writers[0]!.store(sequence, message);
        for (const [sequence, message] of early.slice(0, back).entries())
          writers[1]!.store(sequence, message);
        let sequence = back;
        for (; reader.messages === undefined || sequence < reader.messages; sequence += 1) {
          const message = fill(reader, sequence);
          if (sequence >= last) writers[0]!.store(sequence, Buffer.from(message));
          writers[1]!.store(sequence, message);
        }
        const reports = writers.map((writer) => writer.finish(sequence));
        reader.close();
        for (const [index, to] of [here, there].entries()) {
          expect(reports[index]!.problems).toEqual([]);
          const found = describeTree(join(to, 'root')).get(name);
          const wanted = new Set([undefined, before, describeTree(root).get(name)]);
          expect(wanted, `${name} at survivor ${index}`).toContain(found);
          expect(namesIn(to).length).toBeGreaterThanOrEqual(namesIn(join(root, '..')).length - 1);
        }
      }
    },
  );
});

it('a file given up in a message that was full to the last byte still fits into it', () => {
  let full = 0;
  for (let size = 4_200; size < 4_340; size += 1) {
    const root = join(temporaryDirectory(), 'root');
    write(root, 'a', seededBytes(size, 1));
    write(root, 'b', seededBytes(4_300, 2));
    const reader = readerOf([root]);
    const buffer = Buffer.alloc(4_608);
    const lastRecord = () =>
      [...decodeMessage(buffer.subarray(0, reader.fill(0, buffer).bytes), 0)].at(-1)!.type;
    if (lastRecord() === 'fileBegin') {
      full += 1;
      appendFileSync(join(root, 'b'), 'changed');
      reader.fill(1, buffer);
      expect(lastRecord()).toBe('fileEnd');
    }
    reader.close();
  }
  expect(full).toBeGreaterThan(0);
});

function expectNames(to: string, from: string): void {
  expect(namesIn(to)).toEqual(namesIn(from));
}

function overwrite(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, 'X', 100_000);
  closeSync(file);
}

function replace(path: string): void {
  unlinkSync(path);
  writeFileSync(path, seededBytes(150_000, 1));
}

it('a tree that does not change is complete in any order of survivors', () => {
  const { root, from } = sourceTree();
  const to = temporaryDirectory();
  store(allMessages(readerOf([root])), to);
  expectSameTree(to, from);
});
