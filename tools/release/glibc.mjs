// The glibc that an addon needs: the highest version among the symbols that it takes from there.
import { readFileSync } from 'node:fs';

/** The oldest glibc with which prebuilt addons load, which is that of Node's own binaries. */
export const LEAST_GLIBC = [2, 28];

const newer = ([major, minor], [otherMajor, otherMinor]) =>
  major > otherMajor || (major === otherMajor && minor > otherMinor);

/** The highest version that a file names; versions are entries of its table of strings. */
export function neededGlibc(file) {
  const names = readFileSync(file, 'latin1').matchAll(/(?<=\0)GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)/g);
  const versions = [...names].map(([, major, minor]) => [Number(major), Number(minor)]);
  return versions.reduce((highest, version) => (newer(version, highest) ? version : highest), [0, 0]);
}

/** @throws Error if an addon needs a newer glibc than it may, or the libstdc++ of the system */
export function checkGlibc(file) {
  const needed = neededGlibc(file);
  if (newer(needed, LEAST_GLIBC)) {
    throw new Error(
      `${file} needs glibc ${needed.join('.')}, and may need ${LEAST_GLIBC.join('.')}: ` +
        'lead the new symbol to an older one (packages/verbs/native/portable), and build with --portable',
    );
  }
  if (readFileSync(file, 'latin1').includes('\0libstdc++.so.6\0'))
    throw new Error(`${file} needs libstdc++ of the system: build with --portable`);
}
