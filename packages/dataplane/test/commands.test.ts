import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Counters, type DataPlane, readCounters } from '@rdmc/dataplane';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Kind } from './fixtures/echo.mjs';
import { fromU32, startEcho, u32, until } from './planes.js';

/** For a worker that hangs: nothing else runs in this thread meanwhile, not even vitest's limit of time. */
const LIMIT_MS = 120_000;

const withCode = (code: string) => expect.objectContaining({ code });

describe.each([50, 0, Number.POSITIVE_INFINITY])('commands, window %d ms', (windowMs) => {
  it('are answered with the protocol’s payload', async () => {
    const plane = await startEcho({ windowMs });
    expect(await plane.command('echo', Kind.ECHO, Uint8Array.of(1, 2, 3))).toEqual(Uint8Array.of(1, 2, 3));
    expect(await plane.command('echo', Kind.ECHO)).toEqual(new Uint8Array(0));
    expect(await plane.command('echo', Kind.LATER, u32(9))).toEqual(u32(9));
  });

  it('reject with the protocol’s error', async () => {
    const plane = await startEcho({ windowMs });
    await expect(plane.command('echo', Kind.FAIL)).rejects.toMatchObject({
      name: 'ProtocolError',
      code: 'ERR_TEST_REFUSED',
      message: 'not today',
    });
  });

  it('of random sizes all come back as they were through rings of 4 KiB', async () => {
    const plane = await startEcho({ windowMs, commandRingBytes: 4096, eventRingBytes: 4096 });
    const size = fc.integer({ min: 0, max: 1012 });
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 200 }), async (sizes) => {
        const payloads = sizes.map((length, i) => new Uint8Array(length).fill(i));
        const answers = await Promise.all(
          payloads.map((payload) => plane.command('echo', Kind.ECHO, payload)),
        );
        const wrong = answers.findIndex((answer, i) => Buffer.compare(answer, payloads[i]!) !== 0);
        expect(wrong).toBe(-1);
      }),
      { numRuns: 40 },
    );
    expect(plane.counters()).toMatchObject({ commandRingBytes: 0, eventRingBytes: 0 });
  });
});

describe('a full command ring', () => {
  it('keeps posts and commands in order, and says when it has drained', async () => {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const plane = await startEcho({ commandRingBytes: 4096, data: { gate } });
    const stalled = plane.command('echo', Kind.STALL);
    const payload = new Uint8Array(64);
    let waited = 0;
    for (let i = 0; i < 1000; i += 1) {
      new DataView(payload.buffer).setUint32(0, i, true);
      if (!plane.post('echo', Kind.ORDER, payload)) waited += 1;
    }
    expect(waited).toBeGreaterThan(900);
    expect(plane.counters().commandRingBytes).toBeLessThanOrEqual(4096);
    const order = plane.command('echo', Kind.ORDER);
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    await stalled;
    await plane.drained();
    expect(fromU32(await order)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });

  it('does not send a command that was given up while it waited', async () => {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const plane = await startEcho({ commandRingBytes: 4096, data: { gate } });
    const stalled = plane.command('echo', Kind.STALL);
    while (plane.post('echo', Kind.COUNT, new Uint8Array(500)));
    const controller = new AbortController();
    const before = plane.counters();
    const given = plane.command('echo', Kind.THROW, undefined, { signal: controller.signal });
    controller.abort(new Error('changed my mind'));
    await expect(given).rejects.toThrow('changed my mind');
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    await stalled;
    await plane.command('echo', Kind.ECHO);
    expect(plane.counters().named['echo.seen']).toBeGreaterThan(before.named['echo.seen']!);
  });
});

describe('events', () => {
  it('of the start reach the first listener, before later ones', async () => {
    const plane = await startEcho({ data: { emitAtStart: true } });
    await plane.command('echo', Kind.EMIT, u32(1, 8));
    const kinds: number[] = [];
    plane.onEvent('echo', (kind) => kinds.push(kind));
    await plane.command('echo', Kind.EMIT, u32(1, 8));
    expect(kinds).toEqual([100, 5, 5]);
  });

  it('beyond the ring’s size all arrive, in order, while the worker waits', async () => {
    const plane = await startEcho({ eventRingBytes: 4096 });
    const numbers: number[] = [];
    plane.onEvent('echo', (_, payload) => numbers.push(fromU32(payload.subarray(0, 4))[0]!));
    const first = plane.command('echo', Kind.EMIT, u32(5000, 200));
    const second = plane.command('echo', Kind.ECHO);
    // This thread does not drain, so the worker cannot get as far as the second command.
    const deadline = performance.now() + LIMIT_MS;
    while (plane.counters().eventRingFull === 0 && performance.now() < deadline);
    expect(plane.counters().eventRingFull).toBeGreaterThan(0);
    expect(plane.counters()).toMatchObject({ commands: 1, replies: 1 });
    expect(plane.counters().eventRingBytes).toBeLessThanOrEqual(4096);
    await Promise.all([first, second]);
    expect(numbers).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  });

  it('emitted outside of a turn arrive while the loop sleeps', async () => {
    const plane = await startEcho({ windowMs: 0 });
    const event = new Promise((resolve) => plane.onEvent('echo', (kind) => resolve(kind)));
    await plane.command('echo', Kind.ASYNC_EMIT, u32(1));
    expect(await event).toBe(6);
  });

  it('stop reaching a listener that was removed', async () => {
    const plane = await startEcho();
    let heard = 0;
    const remove = plane.onEvent('echo', () => {
      heard += 1;
    });
    await plane.command('echo', Kind.EMIT, u32(2, 8));
    remove();
    await plane.command('echo', Kind.EMIT, u32(2, 8));
    expect(heard).toBe(2);
  });
});

describe('refusals', () => {
  it('name the unknown protocol, the kind out of range and the record that never fits', async () => {
    const plane = await startEcho({ commandRingBytes: 4096, eventRingBytes: 8192 });
    await expect(plane.command('ehco', 1)).rejects.toEqual(withCode('ERR_RDMC_UNKNOWN_PROTOCOL'));
    expect(() => plane.post('echo', 65_536)).toThrow(withCode('ERR_RDMC_INVALID_OPTION'));
    await expect(plane.command('echo', -1)).rejects.toEqual(withCode('ERR_RDMC_INVALID_OPTION'));
    await expect(plane.command('echo', 1, Uint32Array.of(1) as never)).rejects.toEqual(
      withCode('ERR_RDMC_INVALID_OPTION'),
    );
    const tooLong = new Uint8Array(1013);
    await expect(plane.command('echo', Kind.ECHO, tooLong)).rejects.toEqual(
      withCode('ERR_RDMC_RECORD_TOO_LARGE'),
    );
    expect(await plane.command('echo', Kind.ECHO, tooLong.subarray(1))).toHaveLength(1012);
  });
});

async function later(plane: DataPlane, afterMs: number): Promise<Counters> {
  await delay(afterMs);
  return plane.counters();
}

describe('sleep', () => {
  it('lasts until something happens: no wake-ups, no polls, no turns', async () => {
    const plane = await startEcho({ windowMs: 1 });
    await plane.command('echo', Kind.ECHO);
    await until(() => plane.counters().sleeps === plane.counters().wakeups + 1);
    // A signal that was sent when the worker was about to sleep wakes it once, for nothing.
    let before = await later(plane, 100);
    while (!isDeepStrictEqual(plane.counters(), before)) before = await later(plane, 100);
    expect(await later(plane, 300)).toEqual(before);
    await plane.command('echo', Kind.ECHO);
    expect(plane.counters().wakeups).toBe(before.wakeups + 1);
  });

  it('does not happen with pure polling', async () => {
    const plane = await startEcho({ windowMs: Number.POSITIVE_INFINITY });
    const before = plane.counters();
    await until(() => plane.counters().emptyPolls > before.emptyPolls + 1000);
    expect(plane.counters().sleeps).toBe(0);
  });
});

describe('counters', () => {
  it('are read in another thread', async () => {
    const plane = await startEcho();
    plane.post('echo', Kind.COUNT);
    await plane.command('echo', Kind.ECHO);
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      import('@rdmc/dataplane').then(({ readCounters }) => parentPort.postMessage(readCounters(workerData)));`;
    const reader = new Worker(code, { eval: true, workerData: plane.countersBuffer });
    const elsewhere = await new Promise((resolve, reject) =>
      reader.once('message', resolve).once('error', reject),
    );
    expect(elsewhere).toMatchObject({ commands: 2, replies: 1, named: { 'echo.seen': 1 } });
    expect(readCounters(plane.countersBuffer).commands).toBe(2);
  });
});
