// Run by ../repeat.test.ts, and meant to fail.
import { expect, it } from 'vitest';
import { rounds } from '../../src/index.js';

it('rounds that fail', () => {
  let before = 0;
  return rounds(1000, (random) => {
    const number = random.below(20);
    if (number === 7) console.log(`after ${before} rounds, bytes: ${random.bytes(4).join(' ')}`);
    expect(number).not.toBe(7);
    before += 1;
  });
});
