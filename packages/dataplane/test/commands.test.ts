import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Counters, type DataPlane, readCounters } from '@rdmc/dataplane';
import { refusal, until } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { echoRecords } from './fixtures/echo.mjs';
import { ECHO, NO_ECHO_EVENTS, startEcho, startPlane } from './planes.js';

/** For a worker that hangs: this thread is blocked meanwhile, so vitest's time limit does not apply. */
const LIMIT_MS = 120_000;
const EMPTY = new Uint8Array(0);

function gate(): { word: Int32Array; open: () => void } {
  const word = new Int32Array(new SharedArrayBuffer(4));
  const open = (): void => {
    Atomics.store(word, 0, 1);
    Atomics.notify(word, 0);
  };
  return { word, open };
}

describe.each([50, 0, Number.POSITIVE_INFINITY])('calls, window %d ms', (windowMs) => {
  it('are answered with the result of the protocol', async () => {
    const { echo } = await startEcho({ windowMs });
    expect(await echo.echo(Uint8Array.of(1, 2, 3))).toEqual(Uint8Array.of(1, 2, 3));
    expect(await echo.echo(EMPTY)).toEqual(EMPTY);
    expect(await echo.quiet()).toBeUndefined();
    expect(await echo.later(Uint8Array.of(9))).toEqual(Uint8Array.of(9));
  });

  it('of random sizes all come back unchanged through rings of 4 KiB', async () => {
    const { plane, echo } = await startEcho({ windowMs, commandRingBytes: 4096, eventRingBytes: 4096 });
    const size = fc.integer({ min: 0, max: 1008 });
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 200 }), async (sizes) => {
        const payloads = sizes.map((length, i) => new Uint8Array(length).fill(i));
        const answers = await Promise.all(payloads.map((payload) => echo.echo(payload)));
        const wrong = answers.findIndex((answer, i) => Buffer.compare(answer, payloads[i]!) !== 0);
        expect(wrong).toBe(-1);
      }),
      { numRuns: 40 },
    );
    expect(plane.counters()).toMatchObject({ commandRingBytes: 0, eventRingBytes: 0 });
  });
});

describe('a full command ring', () => {
  it('keeps posts and calls in order, and resolves `drained` when it has room', async () => {
    const { word, open } = gate();
    const { plane, echo } = await startEcho({ commandRingBytes: 4096, data: { gate: word } });
    const stalled = echo.stall();
    let waited = 0;
    for (let i = 0; i < 1000; i += 1) if (!echo.order(i, 0, 0, 0, 0, 0, 0, 0)) waited += 1;
    expect(waited).toBeGreaterThan(900);
    expect(plane.counters().commandRingBytes).toBeLessThanOrEqual(4096);
    const order = echo.orders();
    open();
    await stalled;
    await plane.drained();
    expect(await order).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  });
});

describe('events', () => {
  it('from before the connection are kept, and reach it first and in order', async () => {
    const plane = await startPlane([{ name: 'echo', module: ECHO, data: { emitAtStart: true, chatty: 3 } }]);
    await until(() => plane.counters().events === 4);
    // Until here there was no listener; this thread has taken them from the ring.
    await until(() => plane.counters().eventRingBytes === 0);
    const heard: string[] = [];
    const echo = plane.connect('echo', echoRecords, {
      ...NO_ECHO_EVENTS,
      started: (payload) => heard.push(`started ${payload}`),
      emittedLater: (value) => heard.push(`later ${value}`),
      emitted: ({ length }) => heard.push(`emitted ${length}`),
    });
    expect(heard).toEqual([]);
    await echo.emit(1, 8);
    expect(heard).toEqual(['started 1,2,3', 'later 0', 'later 0.5', 'later 1', 'emitted 8']);
  });

  it('beyond the ring’s size all arrive, in order, while the worker waits', async () => {
    const heard: number[] = [];
    const { plane, echo } = await startEcho({
      eventRingBytes: 4096,
      events: { emitted: ({ buffer }) => heard.push(new DataView(buffer).getUint32(0, true)) },
    });
    const first = echo.emit(5000, 200);
    const second = echo.quiet();
    // This thread does not drain, so the worker cannot get as far as the second command.
    const deadline = performance.now() + LIMIT_MS;
    while (plane.counters().eventRingFull === 0 && performance.now() < deadline);
    expect(plane.counters().eventRingFull).toBeGreaterThan(0);
    expect(plane.counters()).toMatchObject({ commands: 1, replies: 1 });
    expect(plane.counters().eventRingBytes).toBeLessThanOrEqual(4096);
    await Promise.all([first, second]);
    expect(heard).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  });

  it('emitted outside of a turn arrive while the loop sleeps', async () => {
    const heard: number[] = [];
    const { echo } = await startEcho({ windowMs: 0, events: { emittedLater: (n) => heard.push(n) } });
    await echo.emitLater(1.5);
    expect(heard).toEqual([1.5]);
  });
});

describe('a connection', () => {
  it('is refused for an unknown protocol, a second client and a missing event function', async () => {
    const plane = await startPlane([{ name: 'echo', module: ECHO }]);
    const connect = (name: string, events: object) =>
      plane.connect(name, echoRecords, events as typeof NO_ECHO_EVENTS);
    expect(() => connect('ehco', NO_ECHO_EVENTS)).toThrow(refusal('ERR_RDMC_UNKNOWN_PROTOCOL'));
    expect(() => connect('echo', { ...NO_ECHO_EVENTS, emitted: undefined })).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_INVALID_OPTION',
        message: expect.stringContaining("'emitted'"),
      }),
    );
    const echo = connect('echo', NO_ECHO_EVENTS);
    expect(() => connect('echo', NO_ECHO_EVENTS)).toThrow(refusal('ERR_RDMC_PROTOCOL_TAKEN'));
    await echo.quiet();
  });
});

describe('refused records', () => {
  it('are records that are too long for the ring, and bytes that are not a Uint8Array', async () => {
    const { echo } = await startEcho({ commandRingBytes: 4096, eventRingBytes: 8192 });
    const wrong = Uint32Array.of(1) as never;
    await expect(echo.echo(wrong)).rejects.toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(() => echo.count(wrong)).toThrow(refusal('ERR_RDMC_INVALID_OPTION'));
    const tooLong = new Uint8Array(1009);
    await expect(echo.echo(tooLong)).rejects.toEqual(refusal('ERR_RDMC_RECORD_TOO_LARGE'));
    expect(() => echo.count(tooLong)).toThrow(refusal('ERR_RDMC_RECORD_TOO_LARGE'));
    expect(await echo.echo(tooLong.subarray(1))).toHaveLength(1008);
  });

  it('may be answers: the call rejects, and the protocol continues', async () => {
    const { echo, ends } = await startEcho({ eventRingBytes: 4096 });
    for (const sized of [echo.sized, echo.sizedLater]) {
      await expect(sized(1009)).rejects.toMatchObject({
        name: 'ProtocolError',
        code: 'ERR_RDMC_RECORD_TOO_LARGE',
      });
      expect(await sized(1008)).toHaveLength(1008);
    }
    expect(ends).toEqual([]);
  });
});

async function later(plane: DataPlane, afterMs: number): Promise<Counters> {
  await delay(afterMs);
  return plane.counters();
}

describe('sleep', () => {
  it('lasts until an event: no wake-ups, no polls, no turns', async () => {
    const { plane, echo } = await startEcho({ windowMs: 1 });
    await echo.quiet();
    await until(() => plane.counters().sleeps === plane.counters().wakeups + 1);
    // A signal that was sent when the worker was about to sleep wakes it once, without work, and maybe late. A worker that
    // wakes again and again never passes.
    let before = plane.counters();
    for (
      let after = await later(plane, 300);
      !isDeepStrictEqual(after, before);
      after = await later(plane, 300)
    ) {
      before = after;
    }
    await echo.quiet();
    expect(plane.counters().wakeups).toBe(before.wakeups + 1);
  });

  it('does not happen with pure polling', async () => {
    const { plane } = await startEcho({ windowMs: Number.POSITIVE_INFINITY });
    const before = plane.counters();
    await until(() => plane.counters().emptyPolls > before.emptyPolls + 1000);
    expect(plane.counters().sleeps).toBe(0);
  });
});

describe('counters', () => {
  it('are read in another thread', async () => {
    const { plane, echo } = await startEcho();
    echo.count(EMPTY);
    await echo.quiet();
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
