import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

interface Packed {
  tarball: string;
  dependencies: string[];
  folder?: string;
}

/**
 * What a stranger gets: each package is packed, installed alone (with what it depends on) into an empty
 * project, and its example runs there.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const workspace = mkdtempSync(join(tmpdir(), 'rdmc-packages-'));
afterAll(() => rmSync(workspace, { recursive: true, force: true }));

const printed = execFileSync(
  process.execPath,
  [join(root, 'tools/release/pack.mjs'), join(workspace, 'tarballs')],
  {
    encoding: 'utf8',
  },
);
const packed: Record<string, Packed> = JSON.parse(printed);

/** A package and all of ours below it. */
function closure(name: string, found = new Set<string>()): Set<string> {
  if (!found.has(name)) {
    found.add(name);
    for (const below of packed[name]!.dependencies) closure(below, found);
  }
  return found;
}

function installAlone(name: string): string {
  const project = join(workspace, name.replace('/', '-'));
  mkdirSync(project);
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  );
  const tarballs = [...closure(name)].map((each) => packed[each]!.tarball);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs], {
    cwd: project,
    stdio: 'pipe',
  });
  return project;
}

const withExample = Object.keys(packed).filter(
  (name) => packed[name]!.folder && existsSync(join(packed[name]!.folder!, 'example.mjs')),
);

describe('packed packages', () => {
  it('every library has an example', () => {
    const libraries = Object.keys(packed).filter((name) => packed[name]!.folder?.includes('/packages/'));
    expect(withExample.sort()).toEqual(libraries.sort());
  });

  it.each(withExample)('%s installs alone and its example runs', (name) => {
    const project = installAlone(name);
    copyFileSync(join(packed[name]!.folder!, 'example.mjs'), join(project, 'example.mjs'));
    const output = execFileSync(process.execPath, ['example.mjs'], {
      cwd: project,
      encoding: 'utf8',
      timeout: 240_000,
    });
    expect(output.trim()).not.toBe('');
  });

  it('the rdmc command installs alone and answers', () => {
    const project = installAlone('@rdmc/cli');
    const output = execFileSync(
      join(project, 'node_modules/.bin/rdmc'),
      ['schedule', '--nodes', '4', '--blocks', '3'],
      {
        cwd: project,
        encoding: 'utf8',
      },
    );
    expect(output).toMatch(/binomial/i);
  });
});
