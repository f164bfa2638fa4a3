import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SilenceTimer, TickClock } from '../src/index.js';

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

it('counts a tick that comes late for one interval', () => {
  const elapsed: number[] = [];
  const clock = new TickClock(10, (ms) => elapsed.push(ms));
  // The process was stopped: its clock went on, and its timers did not.
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
  vi.advanceTimersByTime(10);
  now.mockRestore();
  clock.stop();
  expect(elapsed).toEqual([10]);
});
