import { closeSync, ftruncateSync, mkdirSync, openSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { rejection, temporaryDirectory } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CastError } from '../src/errors.js';
import { EntryState } from '../src/manifest/entry-states.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import { resolveRoots } from '../src/reader/roots.js';
import { withDirectories } from '../src/reader/selection.js';
import { StreamReader } from '../src/reader/stream-reader.js';
import { Survey } from '../src/reader/survey.js';
import { CHECK_RECORD_BYTES } from '../src/stream/layout.js';
import { checkedRecords, MessageChecks } from '../src/stream/message-check.js';
import { MessageEncoder } from '../src/stream/message-encoder.js';
import type { SinkOrder } from '../src/writer/sink-orders.js';
import { SinkTaker } from '../src/writer/sink-taker.js';
import { SinkWriter, type SinkWriterPorts } from '../src/writer/sink-writer.js';
import { StreamWriter } from '../src/writer/stream-writer.js';
import { allMessages, CHECKSUM, MESSAGE_BYTES } from './support/local-cast.js';
import { policy } from './support/policy.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

/** Sinks that record their orders. */
class Recorder {
  readonly orders: SinkOrder[] = [];
  isClosed = false;

  async order(order: SinkOrder): Promise<void> {
    this.orders.push(order);
  }

  giveUp(): void {}

  close(): void {
    this.isClosed = true;
  }

  /** Paths and contents of the files that were ended. */
  whole(): [string, Buffer][] {
    const files: [string, Buffer][] = [];
    let open: { path: string; parts: Uint8Array[] } | undefined;
    for (const order of this.orders) {
      if (order.type === 'begin') open = { path: Buffer.from(order.path).toString(), parts: [] };
      if (order.type === 'data') open!.parts.push(order.bytes);
      if (order.type === 'end') files.push([open!.path, Buffer.concat(open!.parts)]);
    }
    return files;
  }
}

/** Messages of everything below a directory, each with a CHECK. */
function checkedMessages(from: string, hook?: () => void): Buffer[] {
  const { entries } = new Survey(resolveRoots([Buffer.from(join(from, 'root'))]));
  return allMessages(new StreamReader(entries, CHECKSUM, { checks: new MessageChecks(CHECKSUM), hook }));
}

function writerOf(sinks: Recorder, ports: Partial<SinkWriterPorts> = {}): SinkWriter {
  return new SinkWriter(new SinkTaker(sinks), CHECKSUM, {
    active: () => {},
    isGivenUp: () => false,
    ...ports,
  });
}

async function give(messages: readonly Buffer[], ports: Partial<SinkWriterPorts> = {}) {
  const sinks = new Recorder();
  const writer = writerOf(sinks, ports);
  for (const [sequence, message] of messages.entries()) {
    const copy = Buffer.from(message);
    await writer.store(sequence, copy);
    // The memory of a message is reused for another one.
    copy.fill(0xa5);
  }
  return { sinks, report: await writer.finish(messages.length) };
}

function sourceTree(): string {
  const from = temporaryDirectory();
  write(from, 'root/a', seededBytes(3 * MESSAGE_BYTES, 1));
  write(from, 'root/empty', '');
  write(from, 'root/sub/b', 'text', 0o600);
  return from;
}

describe('sinks', () => {
  it('get the contents of every file, and directories are counted', async () => {
    const { sinks, report } = await give(checkedMessages(sourceTree()));
    expect(sinks.whole()).toEqual([
      ['root/a', seededBytes(3 * MESSAGE_BYTES, 1)],
      ['root/empty', Buffer.alloc(0)],
      ['root/sub/b', Buffer.from('text')],
    ]);
    expect(report).toMatchObject({ files: 3, directories: 2, bytes: 3 * MESSAGE_BYTES + 4, problemCount: 0 });
    expect(report.names.map((name) => Buffer.from(name).toString())).toEqual(['root']);
    expect(sinks.isClosed).toBe(true);
    const begins = sinks.orders.filter((order) => order.type === 'begin');
    expect(begins.map(({ size, mode }) => [size, mode])).toEqual([
      [3 * MESSAGE_BYTES, 0o644],
      [0, 0o644],
      [4, 0o600],
    ]);
  });

  it('are of directories that several streams may have: each is counted once', async () => {
    const { entries } = new Survey(resolveRoots([Buffer.from(join(sourceTree(), 'root'))]));
    const checks = new MessageChecks(CHECKSUM);
    const writer = writerOf(new Recorder(), { policy });
    let messages = 0;
    for (const wanted of ['root/a', 'root/empty']) {
      const selection = Uint8Array.from(entries, ({ path }) => (path.toString() === wanted ? 1 : 0));
      const all = withDirectories(entries, selection);
      const stream = allMessages(new StreamReader(entries, CHECKSUM, { checks, selection: all }));
      for (const [sequence, message] of stream.entries()) await writer.store(sequence, message);
      messages += stream.length;
    }
    expect(await writer.finish(messages)).toMatchObject({ files: 2, directories: 1 });
  });

  it('get no byte of a message of which a byte was damaged', async () => {
    const messages = checkedMessages(sourceTree());
    await fc.assert(
      fc.asyncProperty(
        fc.nat(messages.length - 1),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (at, byte, by) => {
          const sinks = new Recorder();
          const writer = writerOf(sinks);
          for (const [sequence, message] of messages.slice(0, at).entries())
            await writer.store(sequence, Buffer.from(message));
          const before = sinks.orders.length;
          const damaged = Buffer.from(messages[at]!);
          damaged[byte % damaged.length]! ^= by;
          expect(await rejection(writer.store(at, damaged))).toBeInstanceOf(CastError);
          expect(sinks.orders).toHaveLength(before);
        },
      ),
    );
  });

  it('get no byte of a message without a check, or of another number', async () => {
    const plain = allMessages(
      new StreamReader(new Survey(resolveRoots([Buffer.from(join(sourceTree(), 'root'))])).entries, CHECKSUM),
    );
    expect((await rejection(writerOf(new Recorder()).store(0, plain[0]!))).code).toBe(
      'ERR_RDMC_CAST_PROTOCOL',
    );
    const messages = checkedMessages(sourceTree());
    expect((await rejection(writerOf(new Recorder()).store(0, messages[1]!))).code).toBe(
      'ERR_RDMC_CAST_PROTOCOL',
    );
    expect(() => checkedRecords(messages[1]!, 0, CHECKSUM)).toThrow();
  });

  it('are destroyed where the digest of a file differs, although its messages are right', async () => {
    const target = Buffer.alloc(4096);
    const encoder = new MessageEncoder(target, target.length - CHECK_RECORD_BYTES);
    const time = { seconds: 1, nanoseconds: 0 };
    encoder.fileBegin({ index: 0, mode: 0o644, time, size: 4, path: Buffer.from('file') });
    target.write('text', encoder.dataPlace());
    encoder.data(0, 0, 4);
    encoder.fileEnd({ index: 0, status: 0, digest: Buffer.alloc(32) });
    encoder.streamEnd({ files: 1, directories: 0, symbolicLinks: 0, hardLinks: 0, bytes: 4 });
    new MessageChecks(CHECKSUM).add(encoder, target, 0);
    const { sinks, report } = await give([target.subarray(0, encoder.finish(0))]);
    expect(sinks.orders.map(({ type }) => type)).toEqual(['begin', 'data', 'discard']);
    expect(report.problems).toMatchObject([{ path: 'file', code: 'ERR_RDMC_HASH_MISMATCH' }]);
    expect(report).toMatchObject({ files: 0, bytes: 0 });
  });

  it('get the zeros of holes', async () => {
    const from = temporaryDirectory();
    mkdirSync(join(from, 'root'));
    const file = openSync(join(from, 'root/sparse'), 'w');
    writeSync(file, 'begin', 0);
    ftruncateSync(file, 3 << 20);
    writeSync(file, 'end', 2 << 20);
    closeSync(file);
    const { sinks } = await give(checkedMessages(from));
    const expected = Buffer.alloc(3 << 20);
    expected.write('begin', 0);
    expected.write('end', 2 << 20);
    expect(sinks.whole()[0]![1].equals(expected)).toBe(true);
  });

  it('do not get links: each is a problem', async () => {
    const from = sourceTree();
    symlinkSync('a', join(from, 'root/link'));
    const { sinks, report } = await give(checkedMessages(from));
    expect(sinks.whole()).toHaveLength(3);
    expect(report.problems).toMatchObject([{ path: 'root/link', code: 'ERR_RDMC_UNSUPPORTED_TYPE' }]);
  });

  it('are destroyed where the sender gives a file up, and it is a problem', async () => {
    const from = sourceTree();
    let reads = 0;
    const messages = checkedMessages(from, () => {
      reads += 1;
      if (reads === 3) write(from, 'root/a', 'shorter');
    });
    const { sinks, report } = await give(messages);
    expect(sinks.whole().map(([path]) => path)).toEqual(['root/empty', 'root/sub/b']);
    expect(sinks.orders.filter(({ type }) => type === 'discard')).toHaveLength(1);
    expect(report.problems).toMatchObject([{ path: 'root/a', code: 'ERR_RDMC_FILE_CHANGED' }]);
  });

  it('lack every entry of a manifest; with `existing` they want none', async () => {
    const encoder = new PieceEncoder(0);
    const facts = { mode: 0o755, size: 0, targetIndex: 0, digest: undefined, target: Buffer.alloc(0) };
    const time = { seconds: 1, nanoseconds: 0 };
    encoder.add({ ...facts, kind: 'directory', time, path: Buffer.from('root') });
    encoder.add({ ...facts, kind: 'file', time, path: Buffer.from('root/a') });
    const { first, count, data } = encoder.finish();
    const states = (existing: boolean) =>
      writerOf(new Recorder(), { policy: { ...policy, existing } }).examine(first, count, data);
    expect([...states(false)]).toEqual([EntryState.ABSENT, EntryState.ABSENT]);
    expect([...states(true)]).toEqual([EntryState.SKIPPED, EntryState.SKIPPED]);
    expect(() => writerOf(new Recorder()).examine(first, count, data)).toThrow(/did not announce/);
    const { sinks } = await give(checkedMessages(sourceTree()), { policy: { ...policy, existing: true } });
    expect(sinks.orders).toEqual([]);
  });

  it('that fail end the cast', async () => {
    const sinks = new Recorder();
    sinks.order = async () => {
      throw new CastError('ERR_RDMC_WRITE_FAILED', 'the sink is full');
    };
    const [message] = checkedMessages(sourceTree());
    expect((await rejection(writerOf(sinks).store(0, message!))).message).toBe('the sink is full');
  });

  it.each([
    ['a message that is missing', (messages: Buffer[]) => [messages[0]!, messages[2]!]],
    ['a message that comes twice', (messages: Buffer[]) => [messages[0]!, messages[1]!, messages[1]!]],
    ['an end that is missing', (messages: Buffer[]) => messages.slice(0, -1)],
  ])('refuse a stream with %s', async (_, change) => {
    const changed = change(checkedMessages(sourceTree()));
    expect((await rejection(give(changed))).code).toBe('ERR_RDMC_CAST_PROTOCOL');
  });
});

describe('messages with checks', () => {
  it('are stored by a receiver with a directory as others are', () => {
    const from = sourceTree();
    const to = temporaryDirectory();
    const writer = new StreamWriter(to, 'id', CHECKSUM);
    const messages = checkedMessages(from);
    messages.forEach((message, sequence) => {
      writer.store(sequence, message);
    });
    writer.finish(messages.length);
    expectSameTree(to, from);
  });
});
