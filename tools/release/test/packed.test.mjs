import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readmeExample, sharedDirectory } from '@rdmc/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { root, tool } from '../../tasks/setup.mjs';
import { chosenAddons } from '../addon.mjs';
import { withNeeded } from '../order.mjs';
import { packAll, tarballProblems } from '../pack.mjs';
import { platformName } from '../platform-package.mjs';
import { compilations, compile, findings, makeProject } from '../user-checks.mjs';
import { publicPackages, VERBS } from '../workspace.mjs';

// The release of this checkout, and a user's project with a part of it. `npm run test:release` installs every package, with
// every package manager, from a registry.
const workspace = sharedDirectory('rdmc-packed');
const packed = packAll(join(workspace, 'tarballs'), chosenAddons([]));
const byName = new Map(packed.map((each) => [each.name, each]));
const platform = platformName(`linux-${process.arch}`);

function installed(name) {
  const project = join(workspace, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "project", "private": true, "type": "module" }\n');
  const tarballs = withNeeded(packed, [name]).map(({ tarball }) => tarball);
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs];
  execFileSync('npm', args, { cwd: project, stdio: 'pipe' });
  return project;
}

describe('the packages of a release', () => {
  it('are all public packages and the addon of this machine, platform first', () => {
    const names = publicPackages().map(({ manifest }) => manifest.name);
    expect([...byName.keys()].sort()).toEqual([...names, platform].sort());
    expect(packed[0].name).toBe(platform);
  });

  it('name no addon that is not packed', () => {
    const { manifest, version } = byName.get(VERBS);
    expect(manifest.optionalDependencies).toEqual({ [platform]: version });
    expect(byName.get(platform).manifest).toMatchObject({
      os: ['linux'],
      cpu: [process.arch],
      libc: ['glibc'],
    });
  });

  it('are complete', () => {
    expect(tarballProblems(packed.filter(({ name }) => name !== platform))).toEqual([]);
  });

  it('have an addon for every machine that its package is for', () => {
    expect(tarballProblems([byName.get(platform)])).toEqual([]);
  });

  it('have one version, which is that of the changesets', () => {
    expect(new Set(packed.map(({ version }) => version)).size).toBe(1);
    for (const { manifest, version } of packed) {
      const own = Object.entries(manifest.dependencies ?? {}).filter(([name]) => byName.has(name));
      expect(own.filter(([, range]) => range !== version)).toEqual([]);
    }
  });
});

describe('packages as users get them', () => {
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  // Inside the repository, so that the packed packages find their other dependencies.
  const project = mkdtempSync(join(cache, 'rdmc-packages-'));
  afterAll(() => rmSync(project, { recursive: true, force: true }));
  const libraries = packed.filter(({ name }) => name !== platform);
  makeProject(libraries, project);

  it.each(libraries)('$name: publint and Are the Types Wrong have no findings', async ({ tarball }) => {
    expect(await findings(tarball)).toEqual([]);
  });

  // RDMC_TEST_COMPILERS=all: every compiler with every resolution (npm run test:nodes; one of TypeScript 5 for each push).
  it.each(compilations(process.env.RDMC_TEST_COMPILERS === 'all'))(
    '%s, %s: all declarations compile',
    (compiler, resolution) => {
      expect(compile(project, compiler, resolution)).toEqual([]);
    },
  );
});

describe('installed packages', () => {
  const project = installed('@rdmc/cli');
  const command = join(project, 'node_modules/.bin/rdmc');

  it('have what the rdmc command needs', () => {
    const args = ['schedule', '--nodes', '4', '--blocks', '3'];
    expect(execFileSync(command, args, { cwd: project, encoding: 'utf8' })).toMatch(/binomial/i);
  });

  it('have what the example of @rdmc/group needs, without a build of the addon', () => {
    const folder = join(project, 'node_modules/@rdmc/group');
    const { code, prints } = readmeExample(readFileSync(join(folder, 'README.md'), 'utf8'), '@rdmc/group');
    writeFileSync(join(project, 'example.mjs'), code);
    const output = execFileSync(process.execPath, ['example.mjs'], { cwd: project, encoding: 'utf8' });
    expect(output.split('\n').sort()).toEqual(prints.split('\n').sort());
  });

  it('have types that a user of TypeScript can compile without zod', () => {
    const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, module: 'NodeNext', types: [] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
    const lines = [
      "import { type RankDocument, rankDocument } from '@rdmc/cli';",
      'const document: RankDocument = rankDocument.parse({});',
      'export const rank: number = document.rank;',
    ];
    writeFileSync(join(project, 'use.ts'), `${lines.join('\n')}\n`);
    execFileSync(tool('rdmc-tsc'), ['-p', project], { cwd: root, stdio: 'pipe' });
  });
});
