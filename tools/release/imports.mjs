// Packages that the files of an unpacked tarball import.
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';

const CODE = /\.(?:[cm]?js|d\.[cm]?ts)$/;
const IMPORT =
  /(?:^|[\s;}])(?:import|export)\s*(?:[\w*{][^'";]*?from\s*)?['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g;

/** '@scope/name/entry' and 'name/entry' without the entry. */
function packageOf(specifier) {
  const words = specifier.split('/');
  return words.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

/** Comments have examples, whose imports are the reader's. */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

function importedBy(text) {
  const found = [...withoutComments(text).matchAll(IMPORT)].map(([, named, loaded]) => named ?? loaded);
  return found.filter((name) => /^[@a-z]/.test(name) && !isBuiltin(name)).map(packageOf);
}

/** Imported packages by the first file that imports each. */
export function importsOf(folder, files) {
  const imports = new Map();
  for (const file of files.filter((name) => CODE.test(name))) {
    for (const name of importedBy(readFileSync(join(folder, file), 'utf8'))) {
      if (!imports.has(name)) imports.set(name, file);
    }
  }
  return imports;
}
