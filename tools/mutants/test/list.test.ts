import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MUTANTS } from '../src/list/index.js';
import { Sources } from '../src/place.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const sources = new Sources(ROOT);

test('every id is unique', () => {
  const ids = MUTANTS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))(
  '%s: its condition is in the source',
  (_id, mutant) => {
    const { mutated } = sources.place(mutant);
    expect(mutated).not.toBe('');
  },
);

test.each(MUTANTS.map((mutant) => [mutant.id, mutant] as const))(
  '%s: its test files exist',
  (_id, mutant) => {
    expect(mutant.tests.length).toBeGreaterThan(0);
    for (const file of mutant.tests) expect(existsSync(join(ROOT, file)), file).toBe(true);
  },
);
