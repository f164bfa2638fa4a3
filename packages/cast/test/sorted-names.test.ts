import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SortedNames } from '../src/writer/sorted-names.js';

it('sorted names: those that were added are there, others are not', () => {
  const name = fc
    .uint8Array({ minLength: 1, maxLength: 3 })
    .map((bytes) => Buffer.from(bytes).toString('latin1'));
  fc.assert(
    fc.property(fc.uniqueArray(name), fc.array(name), (added, others) => {
      const names = new SortedNames();
      const bytes = added.map((each) => Buffer.from(each, 'latin1')).sort(Buffer.compare);
      for (const each of bytes) names.add(each.toString('latin1'));
      const all = new Set(added);
      for (const each of [...added, ...others]) expect(names.has(each)).toBe(all.has(each));
      expect([...names]).toHaveLength(all.size);
    }),
  );
});
