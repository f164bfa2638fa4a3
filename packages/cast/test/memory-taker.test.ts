import { join } from 'node:path';
import { rejection } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteRange } from '../src/memory/coverage.js';
import { MemoryTaker } from '../src/memory/memory-taker.js';
import type { MemoryPlace, MemoryTarget, SizedFile } from '../src/memory/memory-target.js';
import { PartAnswers } from '../src/memory/part-answers.js';
import { type CastParts, WantedParts } from '../src/memory/parts.js';
import type { Tensor } from '../src/memory/safetensors.js';
import { resolveRoots } from '../src/reader/roots.js';
import { StreamReader } from '../src/reader/stream-reader.js';
import { Survey } from '../src/reader/survey.js';
import { MessageChecks } from '../src/stream/message-check.js';
import type { SinkFailure } from '../src/writer/file-taker.js';
import { SinkWriter } from '../src/writer/sink-writer.js';
import { allMessages, CHECKSUM, MESSAGE_BYTES } from './support/local-cast.js';
import { directoryWith, seededModel, withHeader } from './support/safetensors.js';
import { seededBytes, write } from './support/tree.js';

const UNWRITTEN = 0xee;

/** Memory that notes what happens, and fails where a byte is written twice. */
class Recorder implements MemoryTarget {
  readonly log: string[] = [];
  readonly memory = new Map<string, Buffer>();
  readonly failures: SinkFailure[] = [];
  isFinished = false;
  readonly #names = new Map<number, string>();
  readonly #written = new Map<string, Uint8Array>();

  async allocate({ index, path, size }: SizedFile): Promise<MemoryPlace> {
    const name = Buffer.from(path).toString();
    this.#names.set(index, name);
    const bytes = Buffer.alloc(size, UNWRITTEN);
    this.memory.set(name, bytes);
    const written = new Uint8Array(size);
    this.#written.set(name, written);
    const once = (from: number, length: number): void => {
      expect(written.subarray(from, from + length).includes(1)).toBe(false);
      written.fill(1, from, from + length);
    };
    return {
      write: (offset, data) => {
        once(offset, data.length);
        bytes.set(data, offset);
      },
      zeros: (offset, length) => {
        once(offset, length);
        bytes.fill(0, offset, offset + length);
      },
    };
  }

  async tensors(index: number, tensors: readonly Tensor[]): Promise<void> {
    const name = this.#names.get(index)!;
    for (const tensor of tensors) {
      expect(this.#written.get(name)!.subarray(tensor.begin, tensor.end).includes(0)).toBe(false);
      this.log.push(`${name}: ${tensor.name}`);
    }
  }

  async file(index: number, ranges: readonly ByteRange[]): Promise<void> {
    const name = this.#names.get(index)!;
    for (const { begin, end } of ranges)
      expect(this.#written.get(name)!.subarray(begin, end).includes(0)).toBe(false);
    this.log.push(name);
  }

  async fail(index: number, failure: SinkFailure): Promise<void> {
    this.log.push(`${this.#names.get(index)} failed`);
    this.failures.push(failure);
  }

  finish(): void {
    this.isFinished = true;
  }

  giveUp(): void {}

  close(): void {}
}

const NAMES = ['a', 'b', 'c'];
const TENSOR_BYTES = 100_000;
const model = seededModel(NAMES, TENSOR_BYTES);

const source = (): string => directoryWith(model);

function messagesOf(path: string, hook?: () => void): Buffer[] {
  const { entries } = new Survey(resolveRoots([Buffer.from(path)]));
  return allMessages(new StreamReader(entries, CHECKSUM, { checks: new MessageChecks(CHECKSUM), hook }));
}

function opened(parts?: CastParts) {
  const target = new Recorder();
  const taker = new MemoryTaker(
    target,
    new WantedParts(parts),
    parts && new PartAnswers(new WantedParts(parts)),
  );
  return { target, writer: new SinkWriter(taker, CHECKSUM, { active: () => {}, isGivenUp: () => false }) };
}

async function give(messages: readonly Buffer[], parts?: CastParts) {
  const { target, writer } = opened(parts);
  const after: number[] = [];
  for (const [sequence, message] of messages.entries()) {
    const copy = Buffer.from(message);
    await writer.store(sequence, copy);
    // The memory of a message is reused for another one.
    copy.fill(0xa5);
    after.push(target.log.length);
  }
  return { target, after, report: await writer.finish(messages.length) };
}

describe('memory', () => {
  it('gets every file, and tensors are reported while the rest still arrives', async () => {
    const { target, after, report } = await give(messagesOf(source()));
    const names = NAMES.map((name) => `root/m.safetensors: ${name}`);
    expect(target.log).toEqual(['root/config.json', ...names, 'root/m.safetensors']);
    expect(target.memory.get('root/m.safetensors')!.equals(model)).toBe(true);
    // Each tensor is longer than a message.
    expect(new Set(after).size).toBeGreaterThan(NAMES.length);
    expect(report).toMatchObject({ files: 2, bytes: model.length + 2, problemCount: 0 });
    expect(target.isFinished).toBe(true);
  });

  it('gets no byte of a message of which a byte was damaged', async () => {
    const messages = messagesOf(source());
    await fc.assert(
      fc.asyncProperty(
        fc.nat(messages.length - 1),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (at, byte, by) => {
          const { target, writer } = opened();
          for (const [sequence, message] of messages.slice(0, at).entries())
            await writer.store(sequence, Buffer.from(message));
          const contents = () => Buffer.concat([...target.memory.values()]);
          const before = contents();
          const reported = target.log.length;
          const damaged = Buffer.from(messages[at]!);
          damaged[byte % damaged.length]! ^= by;
          await rejection(writer.store(at, damaged));
          expect(target.log).toHaveLength(reported);
          expect(contents().equals(before)).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('keeps only the tensors that are wanted; other files come whole', async () => {
    const { target, report } = await give(messagesOf(source()), { tensors: ['b'] });
    expect(target.log).toEqual(['root/config.json', 'root/m.safetensors: b', 'root/m.safetensors']);
    const bytes = target.memory.get('root/m.safetensors')!;
    const begin = model.length - 2 * TENSOR_BYTES;
    expect(bytes.subarray(0, begin - TENSOR_BYTES).equals(model.subarray(0, begin - TENSOR_BYTES))).toBe(
      true,
    );
    expect(bytes.subarray(begin - TENSOR_BYTES, begin).every((byte) => byte === UNWRITTEN)).toBe(true);
    expect(bytes.subarray(begin, begin + TENSOR_BYTES).equals(seededBytes(TENSOR_BYTES, 1))).toBe(true);
    expect(bytes.subarray(begin + TENSOR_BYTES).every((byte) => byte === UNWRITTEN)).toBe(true);
    expect(report).toMatchObject({ files: 2, bytes: model.length - 2 * TENSOR_BYTES + 2 });
  });

  it('keeps only the ranges that are wanted', async () => {
    const ranges = [{ path: '*.safetensors', begin: 1000, end: MESSAGE_BYTES + 1000 }];
    const { target, report } = await give(messagesOf(join(source(), 'm.safetensors')), { ranges });
    const bytes = target.memory.get('m.safetensors')!;
    expect(bytes.indexOf(Buffer.alloc(16, UNWRITTEN))).toBe(0);
    expect(
      bytes.subarray(1000, MESSAGE_BYTES + 1000).equals(model.subarray(1000, MESSAGE_BYTES + 1000)),
    ).toBe(true);
    expect(bytes.subarray(MESSAGE_BYTES + 1000).every((byte) => byte === UNWRITTEN)).toBe(true);
    expect(report).toMatchObject({ bytes: MESSAGE_BYTES });
  });

  it('is free where a file of that name has no tensors, and the others arrive', async () => {
    const path = source();
    write(path, 'bad.safetensors', withHeader('{"a":1}', seededBytes(200_000, 1)));
    write(path, 'short.safetensors', 'short');
    const { target, report } = await give(messagesOf(path));
    expect(target.log.slice(0, 1)).toEqual(['root/bad.safetensors failed']);
    expect(target.log).toContain('root/m.safetensors');
    expect(target.memory.has('root/short.safetensors')).toBe(false);
    const code = 'ERR_RDMC_INVALID_SAFETENSORS';
    expect(report.problems).toMatchObject([
      { path: 'root/bad.safetensors', code },
      { path: 'root/short.safetensors', code },
    ]);
    expect(report).toMatchObject({ files: 2 });
  });

  it('is free where the sender gives a file up, although tensors of it were reported', async () => {
    const path = source();
    let reads = 0;
    const messages = messagesOf(path, () => {
      reads += 1;
      if (reads === 5) write(path, 'm.safetensors', 'shorter');
    });
    const { target, report } = await give(messages);
    expect(target.log.at(-1)).toBe('root/m.safetensors failed');
    expect(target.log).not.toContain('root/m.safetensors');
    expect(report.problems).toMatchObject([{ path: 'root/m.safetensors', code: 'ERR_RDMC_FILE_CHANGED' }]);
  });
});
