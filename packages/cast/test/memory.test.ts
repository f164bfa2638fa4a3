import { PassThrough } from 'node:stream';
import {
  type CastMemory,
  castFile,
  castStream,
  type FileMemory,
  type MemoryEvent,
  receiveFiles,
} from '@rdmc/cast';
import { rejection, temporaryDirectory } from '@rdmc/testing';
import { openDevice } from '@rdmc/verbs';
import { afterEach, describe, expect, it } from 'vitest';
import { outcome } from './support/receivers.js';
import { directoryWith, LATE, lateTensorFile, seededModel } from './support/safetensors.js';
import { seededBytes, write } from './support/tree.js';

const open: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const TENSOR_BYTES = 300_000;
const NAMES = ['a', 'b', 'c', 'd'];
const model = seededModel(NAMES, TENSOR_BYTES);

const source = (): string => directoryWith(model);

/** A file of which a tensor arrives long before the rest. */
function lateSource(): string {
  return write(temporaryDirectory(), 'm.safetensors', lateTensorFile());
}

type Allocate = (size: number) => FileMemory | undefined | Promise<FileMemory | undefined>;
const shared: Allocate = (size) => new SharedArrayBuffer(size);

/** A receiver that notes what arrives in its memory. */
async function memoryReceiver(allocate: Allocate = shared, onEvent: (event: MemoryEvent) => void = () => {}) {
  const events: MemoryEvent[] = [];
  const memory: CastMemory = {
    allocate: ({ size }) => allocate(size!),
    arrived: (event) => {
      events.push(event);
      onEvent(event);
    },
  };
  const receiver = await receiveFiles({ memory, port: 0 });
  open.push(() => receiver.close());
  return { receiver, events, to: receiver.address };
}

function described(events: readonly MemoryEvent[]): string[] {
  return events.map((event) =>
    event.type === 'tensor'
      ? `${event.entry.path}: ${event.tensor.name}`
      : `${event.entry.path}${event.type === 'failed' ? ` ${event.code}` : ''}`,
  );
}

const ALL = ['root/config.json', ...NAMES.map((name) => `root/m.safetensors: ${name}`), 'root/m.safetensors'];

describe('a receiver with memory', () => {
  it.each([true, false])('of any kind gets each tensor and each file (encrypted: %s)', async (encrypt) => {
    const device = await openDevice({ device: 'soft' });
    open.push(() => device.close());
    const receivers = await Promise.all([
      memoryReceiver(),
      // A part of something larger, and memory that only this thread can write.
      memoryReceiver((size) => new Uint8Array(new SharedArrayBuffer(size + 9), 5, size)),
      memoryReceiver((size) => new Uint8Array(size + 1)),
      memoryReceiver((size) => device.allocateProtectionDomain().allocate(Math.max(size, 1))),
    ]);
    const to = receivers.map((each) => each.to);
    const summary = await castFile(source(), { to, encrypt, messageBytes: 1 << 18 }).finished;
    expect(summary.receivers.map(({ state, files }) => [state, files])).toEqual(
      to.map(() => ['complete', 2]),
    );
    for (const { events } of receivers) {
      expect(described(events)).toEqual(ALL);
      for (const [at, name] of NAMES.entries()) {
        const event = events.find((each) => each.type === 'tensor' && each.tensor.name === name);
        expect(
          Buffer.from((event as { bytes: Uint8Array }).bytes).equals(seededBytes(TENSOR_BYTES, at)),
        ).toBe(true);
      }
      const file = events.at(-1)!;
      expect(file.type === 'file' && Buffer.from(file.bytes).equals(model)).toBe(true);
    }
  });

  it('that is aborted in the middle has tensors that arrived, and no whole file', async () => {
    let cast: ReturnType<typeof castFile> | undefined;
    const { receiver, events, to } = await memoryReceiver(
      shared,
      ({ type }) => type === 'tensor' && cast!.abort(),
    );
    const end = outcome(receiver);
    cast = castFile(lateSource(), { to: [to], ...LATE });
    await rejection(cast.finished);
    expect(await end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_ABORTED' });
    expect(events.at(-1)).toMatchObject({ type: 'failed', code: 'ERR_RDMC_ABORTED' });
    expect(events.filter(({ type }) => type === 'file')).toEqual([]);
    expect(events.filter(({ type }) => type === 'tensor')).toMatchObject([{ tensor: { name: 'a' } }]);
  });

  it('that is closed in the middle reports that the file failed, and lets go of its region', async () => {
    const device = await openDevice({ device: 'soft' });
    open.push(() => device.close());
    const region = await device.allocateProtectionDomain().allocate(lateTensorFile().length);
    let closing: Promise<void> | undefined;
    const { receiver, events, to } = await memoryReceiver(
      () => region,
      () => {
        closing ??= receiver.close();
      },
    );
    await rejection(castFile(lateSource(), { to: [to], ...LATE }).finished);
    await closing;
    expect(events.map(({ type }) => type)).toEqual(['tensor', 'failed']);
    expect(region.outstanding).toBe(0);
  });

  it.each<[string, Allocate, string, RegExp]>([
    ['is too small', () => new SharedArrayBuffer(1), 'ERR_RDMC_INVALID_OPTION', /has 2 bytes, its memory 1/],
    ['is not memory', () => ({}) as never, 'ERR_RDMC_INVALID_OPTION', /needed a SharedArrayBuffer/],
    ['is not there', () => Promise.reject(new Error('none left')), 'ERR_RDMC_WRITE_FAILED', /none left/],
  ])('that %s fails, and the others get everything', async (_, allocate, code, message) => {
    const good = await memoryReceiver();
    const bad = await memoryReceiver(allocate);
    const { receivers } = await castFile(source(), { to: [good.to, bad.to] }).finished;
    expect(receivers[0]).toMatchObject({ state: 'complete' });
    expect(receivers[1]).toMatchObject({ state: 'failed', code });
    expect(receivers[1]!.message).toMatch(message);
    expect(described(good.events)).toEqual(ALL);
  });

  it('that does not want a file lets it go', async () => {
    const { events, to } = await memoryReceiver((size) =>
      size > 2 ? new SharedArrayBuffer(size) : undefined,
    );
    await castFile(source(), { to: [to] }).finished;
    expect(described(events)).toEqual(ALL.slice(1));
  });

  it('does not take a stream, whose length is not known', async () => {
    const { events, to } = await memoryReceiver();
    const input = new PassThrough();
    input.end('text');
    const { problems } = await castStream(input, { name: 'x', to: [to] }).finished;
    expect(problems).toMatchObject([{ path: 'x', code: 'ERR_RDMC_UNKNOWN_SIZE' }]);
    expect(events).toEqual([]);
  });

  it.each([
    ['a directory too', { directory: '/tmp', memory: { allocate: () => undefined, arrived: () => {} } }],
    ['one function', { memory: { allocate: () => undefined } as never }],
    ['something else', { memory: 5 as never }],
  ])('is refused with %s', async (_, options) => {
    expect((await rejection(receiveFiles({ port: 0, ...options }))).code).toBe('ERR_RDMC_INVALID_OPTION');
  });
});
