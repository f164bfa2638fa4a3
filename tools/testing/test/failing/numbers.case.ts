// Run by ../repeat.test.ts, and meant to fail.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('numbers (all)', () => {
  it("one isn't two", () => expect(1).toBe(2));

  it('are small', () => {
    let first: number | undefined;
    const small = fc.property(fc.integer(), (value) => {
      first ??= value;
      return value < 1000;
    });
    try {
      fc.assert(small);
    } finally {
      console.log(`first value: ${first}`);
    }
  });
});
