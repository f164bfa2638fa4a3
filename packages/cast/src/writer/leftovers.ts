import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { TEMPORARY_PREFIX } from '../constants.js';
import { within } from './descriptor-paths.js';
import { isOwnerGone, OWNER_FILE } from './owner.js';
import { emptyAndRemove } from './temporary-directory.js';

const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Removes temporary directories of terminated receivers. Returns their names. */
export function removeLeftovers(root: number): string[] {
  const names = readdirSync(`/proc/self/fd/${root}/`).filter((name) => name.startsWith(TEMPORARY_PREFIX));
  return names.filter((name) => removeLeftover(root, name));
}

function removeLeftover(root: number, name: string): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(within(root, name), OPEN_FLAGS);
    if (!isOwnerGone(readFileSync(within(descriptor, OWNER_FILE), 'utf8'))) return false;
    emptyAndRemove(root, name, descriptor);
    return true;
  } catch {
    // It belongs to another user, or is not a temporary directory: then it stays.
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
