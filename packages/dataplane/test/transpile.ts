import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Turns sources of this package into JavaScript that a plain worker thread can import. */
export function transpile(...names: string[]): { directory: string; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'rdmc-dataplane-test-'));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  // What the sources import from other packages is found from there, too.
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
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
