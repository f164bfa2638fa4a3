// The packages of this repository that are published.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../tasks/setup.mjs';
import { readManifest } from './manifest.mjs';

export const VERBS = '@rdmc/verbs';
export const PARENTS = ['packages', 'apps'];

/** Folders of all public packages, relative to the repository, with their manifests. */
export function publicPackages(base = root) {
  return PARENTS.flatMap((parent) => readdirSync(join(base, parent)).map((name) => `${parent}/${name}`))
    .filter((folder) => existsSync(join(base, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: readManifest(join(base, folder)) }))
    .filter(({ manifest }) => !manifest.private);
}
