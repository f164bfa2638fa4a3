// A folder with every package as it is published, beside the repository's own folders, which stay as they are.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, tool } from '../tasks/setup.mjs';
import { publishedManifest, readManifest, writeManifest } from './manifest.mjs';
import { writePlatformPackage } from './platform-package.mjs';
import { publicPackages, VERBS } from './workspace.mjs';

const CHANGELOG = 'tools/release/changelog.cjs';
/** What no tarball contains; `files` of each manifest decides about the rest. */
const LEFT_OUT = /^(?:node_modules|\.turbo|src|test|bench|native\/build)$/;

/** Changesets that no version has yet: all but the README of the folder. */
export function pendingChangesets(base = root) {
  return readdirSync(join(base, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md');
}

function copyPackage(folder, staging) {
  const from = join(root, folder);
  cpSync(from, join(staging, folder), {
    recursive: true,
    filter: (path) => !LEFT_OUT.test(path.slice(from.length + 1)),
  });
  copyFileSync(join(root, 'LICENSE'), join(staging, folder, 'LICENSE'));
}

function copyWorkspace(staging) {
  cpSync(join(root, '.changeset'), join(staging, '.changeset'), { recursive: true });
  mkdirSync(join(staging, 'tools/release'), { recursive: true });
  for (const file of ['package.json', CHANGELOG]) copyFileSync(join(root, file), join(staging, file));
  for (const { folder } of publicPackages()) copyPackage(folder, staging);
}

/** Gives the packages the version and the CHANGELOG.md that `npx changeset version` would give them. */
function applyChangesets(staging) {
  if (pendingChangesets(staging).length === 0) return;
  execFileSync(tool('changeset'), ['version'], { cwd: staging, stdio: 'pipe' });
}

/** The addons' packages; returns what @rdmc/verbs names as optional dependencies. */
function writePlatforms(staging, verbs, addons) {
  return Object.fromEntries(
    addons.map((addon) => {
      const folder = join(staging, 'platforms', addon.platform);
      const { name, version } = writePlatformPackage(folder, verbs, addon);
      copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
      return [name, version];
    }),
  );
}

/**
 * Fills `staging`, an empty folder; returns the packages: { folder, manifest }, with the folders' absolute paths. Changesets
 * that no version has yet are applied to it.
 */
export function stagePackages(staging, addons) {
  copyWorkspace(staging);
  applyChangesets(staging);
  const packages = publicPackages(staging).map(({ folder, manifest }) => ({
    folder: join(staging, folder),
    manifest: publishedManifest(manifest),
  }));
  const verbs = packages.find(({ manifest }) => manifest.name === VERBS);
  verbs.manifest.optionalDependencies = writePlatforms(staging, verbs.manifest, addons);
  for (const { folder, manifest } of packages) writeManifest(folder, manifest);
  const platforms = addons.map(({ platform }) => join(staging, 'platforms', platform));
  return [...platforms.map((folder) => ({ folder, manifest: readManifest(folder) })), ...packages];
}
