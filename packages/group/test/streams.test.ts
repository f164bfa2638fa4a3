import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream, WritableStream } from 'node:stream/web';
import type { Group, GroupOptions } from '@rdmc/group';
import { fillFrom, rejection, thrown, until } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messagesOf } from '../src/group-writable.js';
import { clusterForAll, createEverywhere, sha256 } from './support/cluster.js';

const nodes = clusterForAll(3);

let nextId = 1;

async function groupOf(options: Partial<GroupOptions> = {}): Promise<[Group, ...Group[]]> {
  const id = nextId++;
  return (await createEverywhere(nodes, { id, members: [0, 1, 2], ...options })) as [Group, ...Group[]];
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray());
}

function bytes(length: number, seed: number): Buffer {
  const made = Buffer.alloc(length);
  fillFrom(seed, made);
  return made;
}

describe('the streams of a group', () => {
  it('carry any chunks: every receiver reads the same bytes', async () => {
    const chunk = fc.uint8Array({ maxLength: 3000 });
    const sizes = fc.record({
      messageByteLength: fc.integer({ min: 1, max: 5000 }),
      sendBufferBytes: fc.integer({ min: 5000, max: 20_000 }),
      isCorked: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 12 }), sizes, async (chunks, { isCorked, ...limits }) => {
        const { messageByteLength, sendBufferBytes } = limits;
        const [root, ...receivers] = await groupOf({ sendBufferBytes });
        const reading = receivers.map((group) => bytesOf(group.readable()));
        const writable = root.writable({ messageByteLength });
        if (isCorked) writable.cork();
        for (const each of chunks) writable.write(each);
        writable.end();
        await once(writable, 'finish');
        const expected = Buffer.concat(chunks);
        for (const received of await Promise.all(reading)) expect(received.equals(expected)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it('cut and combine chunks to messages', () => {
    const lengths = (chunks: number[], most: number): number[][] =>
      [
        ...messagesOf(
          chunks.map((length) => new Uint8Array(length)),
          most,
        ),
      ].map((parts) => parts.map(({ byteLength }) => byteLength));
    expect(lengths([], 4)).toEqual([]);
    expect(lengths([0, 0], 4)).toEqual([]);
    expect(lengths([1, 2], 4)).toEqual([[1, 2]]);
    expect(lengths([9, 3, 1], 4)).toEqual([[4], [4], [1, 3], [1]]);
  });

  it('end a pipeline when every receiver has everything', async () => {
    const [root, ...receivers] = await groupOf();
    const content = bytes(5_000_000, 1);
    const received = receivers.map((group) => bytesOf(group.readable()));
    await pipeline(Readable.from([content.subarray(0, 7), content.subarray(7)]), root.writable());
    expect(root.signal.aborted).toBe(true);
    for (const group of receivers) expect(group.progress().bytesReceived).toBe(content.byteLength);
    for (const each of await Promise.all(received)) expect(sha256(each)).toBe(sha256(content));
  });

  it('take text, as streams of Node.js do, and several sources, one after the other', async () => {
    const [root, receiver] = await groupOf({ members: [0, 1] });
    const reading = bytesOf(receiver!.readable());
    const writable = root.writable();
    await pipeline(Readable.from(['one ', 'two ']), writable, { end: false });
    await pipeline(Readable.from([Buffer.from('three')]), writable);
    expect(String(await reading)).toBe('one two three');
  });

  it('work as web streams', async () => {
    const [root, ...receivers] = await groupOf();
    const content = bytes(300_000, 2);
    const reading = receivers.map(async (group) => {
      const chunks: Uint8Array[] = [];
      const stream = Readable.toWeb(group.readable()) as ReadableStream<Uint8Array>;
      for await (const chunk of stream) chunks.push(chunk);
      return Buffer.concat(chunks);
    });
    const source = new Blob([content]).stream() as ReadableStream<Uint8Array>;
    await source.pipeTo(Writable.toWeb(root.writable()) as WritableStream<Uint8Array>);
    for (const received of await Promise.all(reading)) expect(sha256(received)).toBe(sha256(content));
  });

  it('delay the source while a receiver does not read', async () => {
    const messageByteLength = 4096;
    const [root, receiver] = await groupOf({
      smallMessageBytes: 0,
      members: [0, 1],
      sendBufferBytes: 4 * messageByteLength,
    });
    const total = 400 * messageByteLength;
    let given = 0;
    const source = new Readable({
      highWaterMark: messageByteLength,
      read() {
        if (given === total) this.push(null);
        else {
          given += messageByteLength;
          this.push(Buffer.alloc(messageByteLength, given / messageByteLength));
        }
      },
    });
    const readable = receiver!.readable();
    const sending = pipeline(source, root.writable({ messageByteLength }));
    // A reader that has read nothing: 64 messages here, and a few in the memory and the streams of the root.
    await until(() => receiver!.progress().messagesReceived === 64);
    expect(given).toBeLessThan(total);
    const received = await bytesOf(readable);
    await sending;
    expect(received.byteLength).toBe(total);
    expect(received[messageByteLength]).toBe(2);
  });

  it('copy a long message in parts', async () => {
    const [root, receiver] = await groupOf({ members: [0, 1] });
    const content = bytes(1_000_000, 3);
    await root.send(content);
    const chunks: Buffer[] = [];
    void root.close();
    for await (const chunk of receiver!.readable()) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(1);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
  });

  it('end with the error of the group when a member is lost', async () => {
    const [root, first, second] = await groupOf();
    const readable = first!.readable();
    const writable = root.writable();
    const errors = [once(readable, 'error'), once(writable, 'error')];
    readable.resume();
    await rejection(second!.close({ signal: AbortSignal.abort() }));
    for (const [error] of await Promise.all(errors)) {
      expect(error).toMatchObject({ name: 'GroupError', code: 'ERR_RDMC_MEMBER_LOST', memberId: 2 });
    }
  });

  it('fail the group everywhere when the source of a pipeline fails', async () => {
    const [root, ...receivers] = await groupOf();
    const failures = receivers.map((group) => rejection(bytesOf(group.readable())));
    const failing = Readable.from(
      (async function* () {
        yield Buffer.from('part');
        throw new Error('the disk is gone');
      })(),
    );
    expect(await rejection(pipeline(failing, root.writable()))).toMatchObject({
      message: 'the disk is gone',
    });
    expect(await rejection(root.close())).toMatchObject({ code: 'ERR_RDMC_STREAM_DESTROYED' });
    for (const error of await Promise.all(failures)) {
      expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 0 });
      expect((error as Error).message).toContain('the disk is gone');
    }
  });

  it('leave the group when a readable is destroyed: the others get the id of the member', async () => {
    const [root, first, second] = await groupOf();
    const writable = root.writable();
    const [failed, other] = [once(writable, 'error'), rejection(bytesOf(second!.readable()))];
    const readable = first!.readable();
    writable.write(bytes(10, 1));
    await once(readable, 'readable');
    readable.destroy();
    expect((await failed)[0]).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    expect(await other).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    expect(await rejection(first!.close())).toMatchObject({ code: 'ERR_RDMC_STREAM_DESTROYED', memberId: 1 });
  });

  it('do not fail a group that is closing: a writable that is destroyed after its end has sent everything', async () => {
    const [root, ...receivers] = await groupOf();
    const content = bytes(2_000_000, 4);
    const reading = receivers.map((group) => bytesOf(group.readable()));
    const writable = root.writable({ messageByteLength: 100_000 });
    writable.end(content);
    await until(() => writable.writableLength === 0);
    writable.destroy();
    for (const received of await Promise.all(reading)) expect(sha256(received)).toBe(sha256(content));
    await root.close();
  });

  it('do not fail a group of which this member has everything', async () => {
    const [root, receiver] = await groupOf({ members: [0, 1] });
    const readable = receiver!.readable();
    await root.send(bytes(10, 1));
    await root.close();
    readable.destroy();
    await receiver!.close();
    await receiver!.closed;
  });

  it('are refused at the wrong member, twice, and with wrong options', async () => {
    const [root, receiver] = await groupOf({ members: [0, 1], sendBufferBytes: 100 });
    expect(thrown(() => receiver!.writable())).toMatchObject({ code: 'ERR_RDMC_NOT_ROOT' });
    const wrong = thrown(() => root.readable());
    expect(wrong).toMatchObject({ code: 'ERR_RDMC_ROOT_RECEIVES_NOTHING' });
    expect((wrong as Error).message).toContain('group.writable()');
    for (const messageByteLength of [0, 101, 1.5]) {
      expect(thrown(() => root.writable({ messageByteLength }))).toMatchObject({
        code: 'ERR_RDMC_INVALID_OPTION',
      });
    }
    expect(thrown(() => root.writable({ messageSize: 1 } as never))).toMatchObject({
      code: 'ERR_RDMC_UNKNOWN_OPTION',
    });
    const reading = bytesOf(receiver!.readable());
    expect(thrown(() => receiver!.readable())).toMatchObject({ code: 'ERR_RDMC_ITERATOR_TAKEN' });
    const writable = root.writable();
    expect(thrown(() => root.writable())).toMatchObject({ code: 'ERR_RDMC_STREAM_TAKEN' });
    writable.end('x');
    expect(String(await reading)).toBe('x');
    await once(writable, 'close');
    expect((await once(root.writable(), 'error'))[0]).toMatchObject({ code: 'ERR_RDMC_GROUP_CLOSED' });
  });
});
