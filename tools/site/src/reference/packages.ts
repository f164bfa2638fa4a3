import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.js';

/** A published package. */
export interface PublicPackage {
  readonly name: string;
  readonly description: string;
  /** Relative to the root. */
  readonly folder: string;
  readonly entries: readonly Entry[];
}

/** An entry point: what a program imports by one name. */
interface Entry {
  /** As a program writes it: `@rdmc/mesh/loopback`. */
  readonly name: string;
  /** Absolute path of the source. */
  readonly source: string;
}

interface Manifest {
  name: string;
  description: string;
  private?: boolean;
  exports?: Record<string, string | { types?: string }>;
}

/** All published packages with an API, in the order of their folders. */
export function publicPackages(): PublicPackage[] {
  return ['packages', 'apps']
    .flatMap((parent) => readdirSync(join(root, parent)).map((name) => `${parent}/${name}`))
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => packageIn(folder))
    .filter((found) => found !== undefined);
}

function packageIn(folder: string): PublicPackage | undefined {
  const manifest: Manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const entries = Object.entries(manifest.exports ?? {}).flatMap(([path, target]) => {
    const types = typeof target === 'string' ? undefined : target.types;
    // `internal` is for the other packages of this repository only.
    if (types === undefined || path === './internal') return [];
    const source = types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts');
    return [{ name: manifest.name + path.slice(1), source: join(root, folder, source) }];
  });
  if (manifest.private || entries.length === 0) return undefined;
  return { name: manifest.name, description: manifest.description, folder, entries };
}
