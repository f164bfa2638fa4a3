import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sharedDirectory } from '@rdmc/testing';
import ts from 'typescript';

/**
 * Turns sources of this package into JavaScript that a plain worker thread can import; returns where it is, until the
 * tests are over.
 */
export function transpile(...names: string[]): string {
  const directory = sharedDirectory();
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  // Imports from other packages are found from there, too.
  symlinkSync(
    fileURLToPath(new URL('../../../node_modules', import.meta.url)),
    join(directory, 'node_modules'),
  );
  for (const name of names) {
    const source = readFileSync(new URL(`../src/${name}.ts`, import.meta.url), 'utf8');
    const { outputText } = ts.transpileModule(source, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    writeFileSync(join(directory, `${name}.js`), outputText);
  }
  return directory;
}
