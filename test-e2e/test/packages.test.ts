import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sharedDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

interface Packed {
  tarball: string;
  dependencies: string[];
  folder?: string;
}

/**
 * What a stranger gets: each package is packed and installed, and its example runs in a project that has the package and
 * what its manifest depends on, and nothing else. npm installs the command alone and all packages together; one more
 * installation for each package would take most of the time, and find the same.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const workspace = sharedDirectory('rdmc-packages');

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

/** A project into which npm has installed these packages. */
function install(title: string, names: Iterable<string>): string {
  const project = emptyProject(title);
  const tarballs = [...names].map((each) => packed[each]!.tarball);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs], {
    cwd: project,
    stdio: 'pipe',
  });
  return project;
}

function emptyProject(title: string): string {
  const project = join(workspace, title.replace('/', '-'));
  mkdirSync(project);
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  );
  return project;
}

const modules = join(install('all packages', Object.keys(packed)), 'node_modules');

/** A package and all that the manifests below it name, as far as npm has installed it: not the addon of another platform. */
function installedBelow(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name) || !existsSync(join(modules, name))) return found;
  found.add(name);
  const manifest = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'));
  const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  for (const below of names) installedBelow(below, found);
  return found;
}

/** A project that has what npm has installed of a package and of what it depends on, and no other package. */
function projectWith(name: string): string {
  const project = emptyProject(name);
  for (const each of installedBelow(name))
    cpSync(join(modules, each), join(project, 'node_modules', each), { recursive: true });
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

  it.each(withExample)('%s has all it needs: its example runs where nothing else is', (name) => {
    const project = projectWith(name);
    copyFileSync(join(packed[name]!.folder!, 'example.mjs'), join(project, 'example.mjs'));
    const output = execFileSync(process.execPath, ['example.mjs'], {
      cwd: project,
      encoding: 'utf8',
      timeout: 240_000,
    });
    expect(output.trim()).not.toBe('');
  });

  it('the rdmc command installs alone and answers', () => {
    const project = install('the command', closure('@rdmc/cli'));
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
