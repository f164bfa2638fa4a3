/** Where an heir keeps its parts of a dead log. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PartMemory } from '../src/cluster/part-memory.js';
import { PART_MEMORY_BYTES } from '../src/limits.js';

const sizes = fc.array(fc.nat(Math.floor(PART_MEMORY_BYTES * 1.2)), { maxLength: 8 });

/** Pairs of pieces that have a byte in common. */
function overlaps(pieces: readonly Buffer[]): number {
  let found = 0;
  for (const [index, a] of pieces.entries()) {
    for (const b of pieces.slice(index + 1)) {
      const isApart = a.byteOffset + a.length <= b.byteOffset || b.byteOffset + b.length <= a.byteOffset;
      if (a.buffer === b.buffer && !isApart) found += 1;
    }
  }
  return found;
}

it('pieces have the length that was asked for, and no byte in common', () => {
  fc.assert(
    fc.property(sizes, (lengths) => {
      const memory = new PartMemory();
      const pieces = lengths.map((length) => memory.allocate(length));
      expect(pieces.map(({ length }) => length)).toEqual(lengths);
      expect(overlaps(pieces)).toBe(0);
    }),
    { numRuns: 50 },
  );
});

it('is used again after a reset', () => {
  const memory = new PartMemory();
  const lengths = [PART_MEMORY_BYTES / 2, PART_MEMORY_BYTES / 2 + 1, 100];
  const before = lengths.map((length) => memory.allocate(length).buffer);
  memory.reset();
  expect(lengths.map((length) => memory.allocate(length).buffer)).toEqual(before);
  expect(new Set(before).size).toBe(2);
});

it('is memory that the garbage collector does not count, whatever its length is', () => {
  const memory = new PartMemory();
  for (const length of [1, PART_MEMORY_BYTES + 1]) {
    expect(memory.allocate(length).buffer).toBeInstanceOf(SharedArrayBuffer);
  }
});
