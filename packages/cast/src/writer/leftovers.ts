import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { TEMPORARY_PREFIX } from '../constants.js';
import { KeptDirectory } from '../resume/kept-directory.js';
import { KEPT_PREFIX } from '../resume/names.js';
import { DIRECTORY_FLAGS, within } from './descriptor-paths.js';
import { isOwnerGone, OWNER_FILE } from './owner.js';
import { emptyAndRemove } from './temporary-directory.js';

/**
 * Removes temporary directories of terminated receivers. Returns their names.
 * @param isKept whether what later casts can use is kept; the names of these directories are not returned
 */
export function removeLeftovers(root: number, isKept = false): string[] {
  const names = readdirSync(`/proc/self/fd/${root}/`).filter(
    (name) => name.startsWith(TEMPORARY_PREFIX) && !name.startsWith(KEPT_PREFIX),
  );
  return names.filter((name) => removeLeftover(root, name, isKept));
}

function removeLeftover(root: number, name: string, isKept: boolean): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(within(root, name), DIRECTORY_FLAGS);
    if (!isOwnerGone(readFileSync(within(descriptor, OWNER_FILE), 'utf8'))) return false;
    if (isKept && keep(root, name)) return false;
    emptyAndRemove(root, name, descriptor);
    return true;
  } catch {
    // It belongs to another user, or is not a temporary directory: then it stays.
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function keep(root: number, name: string): boolean {
  const directory = KeptDirectory.open(root, name);
  try {
    const isUseful = directory?.prune() === true;
    if (isUseful) directory?.keep();
    return isUseful;
  } finally {
    directory?.close();
  }
}
