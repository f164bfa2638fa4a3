import { expect, it } from 'vitest';
import { giveRing, takeRing } from '../src/ring-memory.js';

it('later workers have the rings of ended ones, each once, and only a few are kept', () => {
  const first = takeRing(4096);
  const other = takeRing(8192);
  giveRing(first);
  giveRing(other);
  expect(takeRing(8192)).toBe(other);
  expect(takeRing(8192)).not.toBe(other);
  expect(takeRing(4096)).toBe(first);
  expect(takeRing(4096)).not.toBe(first);

  const many = Array.from({ length: 10 }, () => takeRing(1024));
  for (const ring of many) giveRing(ring);
  const again = new Set(Array.from({ length: 10 }, () => takeRing(1024)));
  expect(many.filter((ring) => again.has(ring)).length).toBe(4);
});
