import { performance } from 'node:perf_hooks';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FineTimer } from '../src/fine-timer.js';

it('calls once for each start, never before its time, and leaves the event loop free meanwhile', async () => {
  for (const microseconds of [1, 100, 2500]) {
    let calls = 0;
    let resolve!: (at: number) => void;
    const called = new Promise<number>((settle) => {
      resolve = settle;
    });
    const timer = FineTimer.open(() => {
      calls += 1;
      resolve(performance.now());
    });
    const started = performance.now();
    timer.start(microseconds);
    expect((await called) - started).toBeGreaterThanOrEqual(microseconds / 1000);
    // A periodic timer would call again.
    await delay(3 * Math.ceil(microseconds / 1000));
    await nextTurn();
    expect(calls).toBe(1);
    timer.close();
  }
});

it('a start moves the call, and a close cancels it', async () => {
  let calls = 0;
  const moved = FineTimer.open(() => {
    calls += 1;
  });
  moved.start(1);
  moved.start(3_600_000_000);
  const closed = FineTimer.open(() => {
    calls += 1;
  });
  closed.start(1);
  closed.close();
  closed.close();
  await delay(2);
  await nextTurn();
  expect(calls).toBe(0);
  moved.close();
});
