import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SilenceTimer } from '../src/index.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('calls back once after so much silence, counted from the last sign of life', () => {
  const silent = vi.fn();
  const timer = new SilenceTimer(10, 50, silent);
  vi.advanceTimersByTime(40);
  timer.heard();
  vi.advanceTimersByTime(40);
  expect(silent).not.toHaveBeenCalled();
  vi.advanceTimersByTime(10);
  vi.advanceTimersByTime(1000);
  expect(silent).toHaveBeenCalledTimes(1);
});

it('is quiet once it was stopped', () => {
  const silent = vi.fn();
  const timer = new SilenceTimer(10, 50, silent);
  timer.unref();
  timer.stop();
  vi.advanceTimersByTime(1000);
  expect(silent).not.toHaveBeenCalled();
});

it('counts for one tick the time in which the process was stopped', () => {
  const silent = vi.fn();
  const timer = new SilenceTimer(10, 50, silent);
  // Its clock went on, and its timers did not.
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(40);
  expect(silent).not.toHaveBeenCalled();
  timer.stop();
});
