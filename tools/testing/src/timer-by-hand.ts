import { onTestFinished, vi } from 'vitest';

/**
 * Returns what ends the next timer of this duration, which is a long one that no other timer has: what the timer limits takes
 * any time on a busy machine.
 */
export function timerByHand(durationMs: number): () => void {
  const { setTimeout: start } = globalThis;
  let end = (): void => {
    throw new Error(`no timer of ${durationMs} ms has begun`);
  };
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => timers.mockRestore());
  timers.mockImplementation(((action: () => void, ms?: number, ...args: []) => {
    if (ms === durationMs) end = action;
    return start(action, ms, ...args);
  }) as typeof setTimeout);
  return () => end();
}
