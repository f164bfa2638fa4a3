import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const native = fileURLToPath(new URL('../native/', import.meta.url));
const files = readdirSync(native).filter((name) => name.endsWith('.cc'));
const units = files.filter((name) => name.startsWith('unit_'));

it('every C++ source file is compiled in exactly one unit, and every unit is in binding.gyp', () => {
  const included = units.flatMap((unit) =>
    [...readFileSync(native + unit, 'utf8').matchAll(/^#include "(.+\.cc)"$/gm)].map(([, name]) => name),
  );
  expect(included.sort()).toEqual(files.filter((name) => !name.startsWith('unit_')).sort());
  const built = [...readFileSync(`${native}binding.gyp`, 'utf8').matchAll(/"(\w+\.cc)"/g)].map(
    ([, name]) => name,
  );
  expect(built.sort()).toEqual(units.sort());
});
