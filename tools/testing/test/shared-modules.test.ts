// The test files of a process load a module once. So hooks at the top of a module that they share belong to the first file that
// imports it, and what they should close after each test stays open in all later files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const HOOK_AT_TOP = /^(?:before|after)(?:All|Each)\(/m;

/** Sources below the folders of tests, and those of private tools, which are not test files. */
function shared(): string[] {
  const packages = ['packages', 'apps', 'tools'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name)),
  );
  return [...packages, 'test-e2e'].flatMap((folder) =>
    ['src', 'test'].flatMap((part) => sourcesIn(join(folder, part))),
  );
}

function sourcesIn(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  const entries = readdirSync(join(root, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && /(?<!\.test)\.m?[jt]s$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

it('modules that test files share have no hooks at their top', () => {
  const files = shared();
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => HOOK_AT_TOP.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
