import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadline, Deferred, onAbort, pause, settledWithin, within } from '../src/index.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = (timeoutMs: number): Error => new Error(`after ${timeoutMs} ms`);

it('settles as the promise does, and then holds neither timer nor listener', async () => {
  const controller = new AbortController();
  const removed = vi.spyOn(controller.signal, 'removeEventListener');
  const limits = { timeoutMs: 50, late, signal: controller.signal };
  await expect(within(Promise.resolve(1), limits)).resolves.toBe(1);
  await expect(within(Promise.reject(new Error('no')), limits)).rejects.toThrow('no');
  expect(vi.getTimerCount()).toBe(0);
  expect(removed).toHaveBeenCalledTimes(2);
});

it('rejects when the time is over, and ignores what the promise does then', async () => {
  const slow = new Deferred<void>();
  const waiting = expect(within(slow.promise, { timeoutMs: 50, late })).rejects.toThrow('after 50 ms');
  await vi.advanceTimersByTimeAsync(50);
  await waiting;
  slow.reject(new Error('too late'));
});

it('rejects when the signal aborts: with an AbortError where it is told what, else with the reason', async () => {
  const never = new Promise<void>(() => {});
  const controller = new AbortController();
  const { signal } = controller;
  const told = expect(within(never, { signal, what: 'The send' })).rejects.toMatchObject({
    name: 'AbortError',
    code: 'ERR_RDMC_ABORTED',
    message: 'The send was aborted by its signal',
    cause: 'enough',
  });
  const plain = expect(within(never, { signal, timeoutMs: Number.POSITIVE_INFINITY })).rejects.toBe('enough');
  controller.abort('enough');
  await told;
  await plain;
  await expect(within(never, { signal, timeoutMs: 50, late })).rejects.toBe('enough');
  expect(vi.getTimerCount()).toBe(0);
});

it('calls back once, and not after it was cleared', () => {
  const controller = new AbortController();
  const ends: unknown[] = [];
  const limits = { timeoutMs: 50, late, signal: controller.signal };
  new Deadline(limits, (error) => ends.push(error));
  new Deadline(limits, (error) => ends.push(error)).clear();
  vi.advanceTimersByTime(60);
  controller.abort();
  expect(ends).toEqual([late(50)]);
});

it('what fails after the end is not an unhandled rejection', async () => {
  vi.useRealTimers();
  const unhandled: unknown[] = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => unhandled.push(reason));
  try {
    const signal = AbortSignal.abort(new Error('the log has ended'));
    await expect(within(Promise.reject(new Error('closed')), { signal })).rejects.toThrow('has ended');
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.removeAllListeners('unhandledRejection');
    for (const listener of listeners) process.on('unhandledRejection', listener);
  }
  expect(unhandled).toEqual([]);
});

it('tells whether a promise settled in time', async () => {
  await expect(settledWithin(Promise.reject(new Error('no')), 50)).resolves.toBe(true);
  const waiting = settledWithin(new Promise(() => {}), 50, { ref: false });
  await vi.advanceTimersByTimeAsync(50);
  await expect(waiting).resolves.toBe(false);
});

it('pauses, until the signal aborts at most', async () => {
  const controller = new AbortController();
  const ended: string[] = [];
  const pauses = [
    pause(50).then(() => ended.push('time')),
    pause(500, controller.signal).then(() => ended.push('signal')),
    pause(500, AbortSignal.abort()).then(() => ended.push('at once')),
  ];
  await vi.advanceTimersByTimeAsync(50);
  controller.abort();
  await Promise.all(pauses);
  expect(ended).toEqual(['at once', 'time', 'signal']);
  expect(vi.getTimerCount()).toBe(0);
});

it('calls back at an abort, also one that was before, until it is told to forget', () => {
  const calls: string[] = [];
  const controller = new AbortController();
  onAbort(undefined, () => calls.push('none'))();
  onAbort(controller.signal, () => calls.push('forgotten'))();
  onAbort(controller.signal, () => calls.push('first'));
  controller.abort();
  onAbort(controller.signal, () => calls.push('second'));
  expect(calls).toEqual(['first', 'second']);
});
