// Checks every published package as its users get it: packs it, and runs publint, Are the Types Wrong, and the compiler
// of a user that does not skip the check of declarations (--all: each compiler with each resolution). One process, because
// each start of these tools takes seconds.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemAffectsResolutionKind } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { chosenAddons } from '../release/addon.mjs';
import { packAll } from '../release/pack.mjs';
import { root } from './setup.mjs';

/** The packages are ES modules only: these kinds of resolution cannot use them. */
const SUPPORTED = ['node16-esm', 'bundler'];

/** The manifests of all packages that are published. */
function publishedPackages() {
  return ['packages', 'apps']
    .flatMap((parent) =>
      readdirSync(join(root, parent)).map((name) => join(root, parent, name, 'package.json')),
    )
    .map((path) => JSON.parse(readFileSync(path, 'utf8')))
    .filter((manifest) => !manifest.private);
}

/** Packs them as a release does; returns the tarballs' paths in the order of the packages. */
function pack(packages, out) {
  const packed = new Map(packAll(out, chosenAddons([])).map(({ name, tarball }) => [name, tarball]));
  return packages.map(({ name }) => packed.get(name));
}

/** Findings of publint, as lines. */
async function lint(tarball) {
  const { messages, pkg } = await publint({ strict: true, pack: { tarball } });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/** Findings of Are the Types Wrong for the supported resolutions, as lines. */
async function resolve(tarball) {
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
  if (!analysis.types) return ['attw: the package has no types'];
  const wrong = analysis.problems.filter((problem) =>
    SUPPORTED.some((kind) => problemAffectsResolutionKind(problem, kind, analysis)),
  );
  return wrong.map((problem) => `attw: ${JSON.stringify({ ...problem, trace: undefined })}`);
}

/** Users' compilers, and how their projects find modules. */
const COMPILERS = {
  'TypeScript 5': ['node_modules/typescript/bin/tsc'],
  'TypeScript 7': ['tools/tsc/tsc.mjs'],
};
const RESOLUTIONS = {
  node16: { module: 'Node16' },
  nodenext: { module: 'NodeNext' },
  bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
};

/** A project with a file that imports the types of all packages, each as it was packed. */
function makeProject(packages, tarballs, project) {
  for (const [index, manifest] of packages.entries()) {
    const folder = join(project, 'node_modules', manifest.name);
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', tarballs[index], '-C', folder, '--strip-components=1']);
  }
  const lines = packages.map((manifest, index) => `export type * as p${index} from '${manifest.name}';`);
  writeFileSync(join(project, 'all.ts'), lines.join('\n'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
}

/** Compiles the project; returns the compiler's lines. */
function compile(project, compiler, resolution) {
  const strict = { strict: true, skipLibCheck: false, noEmit: true, types: ['node'], target: 'ES2022' };
  const compilerOptions = { ...strict, lib: ['ES2023', 'ESNext.Disposable'], ...RESOLUTIONS[resolution] };
  const settings = join(project, `${resolution}.json`);
  writeFileSync(settings, JSON.stringify({ compilerOptions, files: ['all.ts'] }));
  try {
    execFileSync(process.execPath, [...COMPILERS[compiler], '-p', settings], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    });
    return [];
  } catch (error) {
    return `${error.stdout}`
      .trim()
      .split('\n')
      .map((line) => `${compiler}, ${resolution}: ${line}`);
  }
}

/** Each compiler with each resolution, or without --all one resolution for each: a compilation takes 4 s of a processor. */
function compileAll(project) {
  const pairs = process.argv.includes('--all')
    ? Object.keys(COMPILERS).flatMap((compiler) =>
        Object.keys(RESOLUTIONS).map((resolution) => [compiler, resolution]),
      )
    : [
        ['TypeScript 5', 'nodenext'],
        ['TypeScript 7', 'bundler'],
      ];
  return pairs.flatMap(([compiler, resolution]) => compile(project, compiler, resolution));
}

const packages = publishedPackages();
const cache = join(root, 'node_modules', '.cache');
mkdirSync(cache, { recursive: true });
// Inside the repository, so that the packed packages find their other dependencies.
const work = mkdtempSync(join(cache, 'rdmc-packages-'));
try {
  const tarballs = pack(packages, work);
  makeProject(packages, tarballs, work);
  const problems = compileAll(work);
  for (const [index, manifest] of packages.entries()) {
    const { buffer } = new Uint8Array(readFileSync(tarballs[index]));
    const found = [...(await lint(buffer)), ...(await resolve(buffer))];
    problems.push(...found.map((line) => `${manifest.name}: ${line}`));
  }
  console.log(problems.length > 0 ? problems.join('\n') : `${packages.length} packages have no findings`);
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  rmSync(work, { recursive: true, force: true });
}
