import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../root.js';
import { type PublicPackage, publicPackages } from './packages.js';

/** One TypeScript program with the sources of these packages, which find each other's sources, not the builds. */
export function programOf(packages: readonly PublicPackage[]): ts.Program {
  const config = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(
    {
      ...config.config,
      compilerOptions: { ...config.config.compilerOptions, paths: sourcePaths() },
      files: [],
    },
    ts.sys,
    root,
  );
  const rootNames = packages.flatMap(({ entries }) => entries.map(({ source }) => source));
  return ts.createProgram({ rootNames, options });
}

function sourcePaths(): Record<string, string[]> {
  const entries = publicPackages().flatMap((one) => one.entries);
  return Object.fromEntries(entries.map(({ name, source }) => [name, [source]]));
}
