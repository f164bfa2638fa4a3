import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandNodeList, slurmTargets } from '../src/hosts/slurm.js';

describe("Slurm's node lists", () => {
  it.each([
    ['node1', ['node1']],
    ['node[1-3]', ['node1', 'node2', 'node3']],
    ['node[08-11]', ['node08', 'node09', 'node10', 'node11']],
    ['node[098-101]', ['node098', 'node099', 'node100', 'node101']],
    ['n[1,3-4,007],gpu2', ['n1', 'n3', 'n4', 'n007', 'gpu2']],
    ['rack[1-2]n[01-02]-ib,login', ['rack1n01-ib', 'rack1n02-ib', 'rack2n01-ib', 'rack2n02-ib', 'login']],
    ['[1-2]x', ['1x', '2x']],
  ])('%s', (list, nodes) => {
    expect(expandNodeList(list)).toEqual(nodes);
  });

  it.each([
    ['', 'an empty name'],
    ['a,,b', 'an empty name'],
    ['a,', 'an empty name'],
    ['a[1-2', "'[' without ']'"],
    ['a1-2]', "']' without '['"],
    ['a[1[2]]', 'a bracket within brackets'],
    ['a[]', '"" is neither a number'],
    ['a[1-]', '"1-" is neither a number'],
    ['a[x]', '"x" is neither a number'],
    ['a[3-1]', 'ends before it begins'],
    ['a[1-99999999]', 'has more than 4095 numbers'],
    ['a[1-999]b[1-999]', 'more than 4095 nodes'],
    ['a[1-4000],b[1-4000]', '8000 nodes; at most 4095'],
  ])('%j is refused', (list, message) => {
    expect(() => expandNodeList(list)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_USAGE', message: expect.stringContaining(message) }),
    );
  });

  /** Written the way Slurm does, from nodes known beforehand. */
  const range = fc
    .record({
      low: fc.nat(999),
      count: fc.integer({ min: 1, max: 12 }),
      width: fc.integer({ min: 1, max: 5 }),
    })
    .map(({ low, count, width }) => {
      const numbers = Array.from({ length: count }, (_, i) => String(low + i).padStart(width, '0'));
      return { text: count === 1 ? numbers[0]! : `${numbers[0]}-${numbers.at(-1)}`, numbers };
    });
  const text = fc.stringMatching(/^[a-z-]{0,4}$/);
  const node = fc
    .record({
      head: fc.stringMatching(/^[a-z]{1,4}$/),
      ranges: fc.array(range, { minLength: 1, maxLength: 3 }),
      tail: text,
    })
    .map(({ head, ranges, tail }) => ({
      text: `${head}[${ranges.map((one) => one.text).join(',')}]${tail}`,
      nodes: ranges.flatMap(({ numbers }) => numbers.map((number) => `${head}${number}${tail}`)),
    }));
  const plain = fc.stringMatching(/^[a-z][a-z0-9-]{0,6}$/).map((name) => ({ text: name, nodes: [name] }));

  it('give every node once, in order, with its zeros', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(node, plain), { minLength: 1, maxLength: 5 }), (parts) => {
        const list = parts.map((part) => part.text).join(',');
        expect(expandNodeList(list)).toEqual(parts.flatMap((part) => part.nodes));
      }),
    );
  });

  it('of any text are expanded or refused as usage', () => {
    const characters = fc.constantFrom('a', 'n', '0', '1', '9', '[', ']', ',', '-');
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 20 }), (list) => {
        try {
          for (const name of expandNodeList(list)) expect(name).not.toMatch(/[[\],]/);
        } catch (error) {
          expect(error).toMatchObject({ code: 'ERR_RDMC_USAGE' });
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('come from the environment of the job', () => {
    expect(slurmTargets({ SLURM_JOB_NODELIST: 'n[1-2]' })).toEqual([{ host: 'n1' }, { host: 'n2' }]);
    expect(() => slurmTargets({})).toThrow(/SLURM_JOB_NODELIST is not set/);
  });
});
