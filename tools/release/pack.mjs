// Packs every public package and the platform packages into a folder.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishOrder } from './order.mjs';
import { packageProblems } from './package-check.mjs';
import { stagePackages } from './staging.mjs';
import { packFolders, unpack } from './tarball.mjs';

/**
 * @typedef {object} Packed
 * @property {string} name
 * @property {string} version
 * @property {string} tarball its absolute path
 * @property {Record<string, unknown>} manifest as published
 */

function inTemporary(work) {
  const folder = mkdtempSync(join(tmpdir(), 'rdmc-pack-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Packs all packages into `out`.
 * @returns {Packed[]} in the order of publication
 */
export function packAll(out, addons) {
  mkdirSync(out, { recursive: true });
  return inTemporary((staging) => {
    const staged = publishOrder(stagePackages(staging, addons));
    const folders = staged.map(({ folder }) => folder);
    const tarballs = packFolders(folders, out);
    return staged.map(({ manifest }) => {
      const { name, version } = manifest;
      return { name, version, tarball: tarballs.get(name), manifest };
    });
  });
}

/** Problems of the tarballs, one line each, with the package's name. */
export function tarballProblems(packed) {
  return inTemporary((folder) =>
    packed.flatMap(({ name, tarball }, index) =>
      packageProblems(unpack(tarball, join(folder, String(index)))).map((problem) => `${name}: ${problem}`),
    ),
  );
}
