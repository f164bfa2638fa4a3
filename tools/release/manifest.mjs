// package.json of a package.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

export function writeManifest(folder, manifest) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** A manifest as it is published: without what only the repository uses. */
export function publishedManifest({ scripts, devDependencies, ...manifest }) {
  return manifest;
}

/** Packages of this repository that a package needs at run time. */
export function ownDependencies({ dependencies = {}, optionalDependencies = {} }) {
  return Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) =>
    name.startsWith('@rdmc/'),
  );
}
