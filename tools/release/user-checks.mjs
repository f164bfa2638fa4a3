// What a user's tools say about packages as they are published: publint, Are the Types Wrong, and compilers that do not skip
// the check of declarations.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemAffectsResolutionKind } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { root } from '../tasks/setup.mjs';
import { unpack } from './tarball.mjs';

/** The packages are ES modules only: these kinds of resolution cannot use them. */
const SUPPORTED = ['node16-esm', 'bundler'];

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

/** Findings about a tarball, as lines. */
export async function findings(path) {
  const { buffer } = new Uint8Array(readFileSync(path));
  return [...(await lint(buffer)), ...(await resolve(buffer))];
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

/**
 * With `all`, each compiler with each resolution. Without, the fast one alone: a compilation by TypeScript 5 takes 4 s of a
 * processor, and is among the smoke tests.
 */
export function compilations(all) {
  if (!all) {
    return [
      ['TypeScript 7', 'nodenext'],
      ['TypeScript 7', 'bundler'],
    ];
  }
  return Object.keys(COMPILERS).flatMap((compiler) =>
    Object.keys(RESOLUTIONS).map((resolution) => [compiler, resolution]),
  );
}

/** Makes a project with a file that imports the types of these packages, each as it was packed: { name, tarball }. */
export function makeProject(packed, project) {
  for (const { name, tarball } of packed) unpack(tarball, join(project, 'node_modules', name));
  const lines = packed.map(({ name }, index) => `export type * as p${index} from '${name}';`);
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, 'all.ts'), lines.join('\n'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
}

/** Compiles the project; returns the compiler's lines. */
export function compile(project, compiler, resolution) {
  const strict = { strict: true, skipLibCheck: false, noEmit: true, types: ['node'], target: 'ES2022' };
  const compilerOptions = { ...strict, lib: ['ES2023', 'ESNext.Disposable'], ...RESOLUTIONS[resolution] };
  const settings = join(project, `${resolution}.json`);
  writeFileSync(settings, JSON.stringify({ compilerOptions, files: ['all.ts'] }));
  const args = [...COMPILERS[compiler], '-p', settings];
  try {
    execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    return [];
  } catch (error) {
    return `${error.stdout}`.trim().split('\n');
  }
}
