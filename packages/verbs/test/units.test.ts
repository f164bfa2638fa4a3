import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const native = fileURLToPath(new URL('../native/', import.meta.url));
const below = readdirSync(native, { recursive: true, encoding: 'utf8' });
const files = below.filter((name) => /^(?!build\/).*\.(cc|h)$/.test(name)).sort();
const units = files.filter((name) => name.startsWith('unit_'));
const textOf = (name: string) => readFileSync(native + name, 'utf8');

/** Files of this package that a file includes, as it names them. */
function includesOf(name: string): string[] {
  return [...textOf(name).matchAll(/^#include "(.+)"$/gm)].map(([, included]) => included!);
}

it('every C++ source file is compiled in exactly one unit, and every unit is in binding.gyp', () => {
  const sources = files.filter((name) => name.endsWith('.cc') && !units.includes(name));
  expect(units.flatMap(includesOf).sort()).toEqual(sources);
  const built = [...textOf('binding.gyp').matchAll(/"(\w+\.cc)"/g)].map(([, name]) => name);
  expect(built.sort()).toEqual(units);
});

it('every include names the file from the root of the sources', () => {
  const unknown = files.flatMap((name) => includesOf(name).filter((included) => !files.includes(included)));
  expect(unknown).toEqual([]);
});

/** Folders that a folder must not include. */
const FORBIDDEN = {
  core: /^(soft|ibv|binding)\//,
  soft: /^(ibv|binding)\//,
  'soft/shm': /^soft\/tcp\//,
  'soft/tcp': /^soft\/shm\//,
  ibv: /^(soft|binding)\//,
};

it.each(Object.entries(FORBIDDEN))('nothing in %s/ includes %s', (folder, forbidden) => {
  const inside = files.filter((name) => name.startsWith(`${folder}/`));
  expect(inside.length).toBeGreaterThan(5);
  const wrong = inside.flatMap((name) =>
    includesOf(name)
      .filter((included) => forbidden.test(included))
      .map((included) => `${name}: ${included}`),
  );
  expect(wrong).toEqual([]);
});

it('a portable addon wraps the functions of portable/old_glibc.cc, and no others', () => {
  const source = textOf('portable/old_glibc.cc');
  const macros = [...source.matchAll(/^RDMC_OLD_VERSION\((\w+),/gm)].map(([, name]) => name!);
  const definitions = [...source.matchAll(/^RDMC_HERE_ALONE .*\b__wrap_(\w+)/gm)].map(([, name]) => name!);
  expect(macros.length).toBeGreaterThan(10);
  const wrapped = [...textOf('binding.gyp').matchAll(/--wrap=(\w+)/g)].map(([, name]) => name);
  expect(wrapped.sort()).toEqual([...macros, ...definitions].sort());
});
