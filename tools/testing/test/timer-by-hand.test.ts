import { expect, it } from 'vitest';
import { timerByHand } from '../src/index.js';

const LONG_MS = 7_654_321;

it('ends the timer of that duration, and no other one', () => {
  const ended: string[] = [];
  const end = timerByHand(LONG_MS);
  expect(end).toThrow('no timer of 7654321 ms has begun');
  const timers = [LONG_MS + 1, LONG_MS].map((ms) => setTimeout(() => ended.push(`${ms}`), ms));
  end();
  expect(ended).toEqual([`${LONG_MS}`]);
  for (const timer of timers) clearTimeout(timer);
});
