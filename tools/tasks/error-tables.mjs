// The tables of errors of all packages, as built.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './setup.mjs';

const PARENTS = ['packages', 'apps', 'tools'];

/** Every package that has a library: its name and the library's path. */
function libraries() {
  const folders = PARENTS.flatMap((parent) =>
    readdirSync(join(root, parent))
      .sort()
      .map((name) => `${parent}/${name}`),
  );
  return folders.flatMap((folder) => {
    const path = join(root, folder, 'package.json');
    if (!existsSync(path)) return [];
    const { name, exports } = JSON.parse(readFileSync(path, 'utf8'));
    const library = exports?.['.']?.default;
    return library ? [{ name, path: join(root, folder, library) }] : [];
  });
}

/** The exports of a package whose name ends in `Errors`. */
function tablesOf(library) {
  return Object.entries(library).filter(([name]) => name.endsWith('Errors'));
}

/** Every code of every package: `{ code, package, category, meaning, advice }`, in the order of packages and tables. */
export async function allErrors() {
  const errors = [];
  for (const { name, path } of libraries()) {
    const library = await import(pathToFileURL(path).href);
    for (const [, table] of tablesOf(library)) {
      for (const [code, [category, meaning, advice]] of Object.entries(table)) {
        errors.push({ code, package: name, category, meaning, advice });
      }
    }
  }
  return errors;
}
