import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { publicPackages } from '../src/reference/packages.js';
import { programOf } from '../src/reference/program.js';
import { coverageOf } from '../src/reference/undocumented.js';
import { root } from '../src/root.js';

const packages = publicPackages();
const program = programOf(packages);
const allowed: Record<string, number> = JSON.parse(
  readFileSync(join(root, 'tools/site/src/reference/allowed.json'), 'utf8'),
);

describe('exports and their members have a comment', () => {
  it('in every package that is published', () => {
    expect(Object.keys(allowed).sort()).toEqual(packages.map(({ name }) => name).sort());
  });

  it.each(packages.map((one) => [one.name, one] as const))('%s', (name, one) => {
    const { total, undocumented } = coverageOf(program, one);
    expect(total).toBeGreaterThan(5);
    expect(undocumented.length, `without a comment: ${undocumented.join(', ')}`).toBeLessThanOrEqual(
      allowed[name]!,
    );
  });
});

it('the count finds what does not have a comment', () => {
  const source = join(temporaryDirectory('undocumented'), 'index.ts');
  writeFileSync(
    source,
    `/** Yes. */
    export interface A {
      /** Yes. */
      b: 1;
      c: 2;
    }
    export class D extends Error {
      override name = 'D';
      #e = 1;
      private f = 2;
      /** Yes. */
      g() {}
      h() {}
      static i = 1;
    }
    export type J =
      | { k: 1 }
      | {
          /** Yes. */
          l: 2;
        };
    /** Yes. */
    export const m = 1;`,
  );
  const one = { name: 'x', description: '', folder: '', entries: [{ name: 'x', source }] };
  const { total, undocumented } = coverageOf(programOf([one]), { ...one, folder: dirname(source) });
  expect([...undocumented].sort()).toEqual(['A.c', 'D', 'D.h', 'D.i', 'J', 'J.k']);
  expect(total).toBe(11);
});
