import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { TEMPORARY_PREFIX } from '../constants.js';
import { KeptDirectory } from '../resume/kept-directory.js';
import { KEPT_PREFIX } from '../resume/names.js';
import { DIRECTORY_FLAGS, within } from './descriptor-paths.js';
import { OWNER_FILE, ownerState } from './owner.js';
import { emptyAndRemove } from './temporary-directory.js';

/**
 * Removes temporary directories of terminated receivers. Returns their names.
 * @param isKept whether what later casts can use is kept; the names of these directories are not returned
 */
export function removeLeftovers(root: number, isKept = false, nowMs = Date.now()): string[] {
  return temporariesIn(root).filter((name) => removeLeftover(root, name, isKept, nowMs));
}

/** Names of temporary directories whose receivers may run in other containers or on other hosts: nobody removes them yet. */
export function leftoversElsewhere(root: number, nowMs = Date.now()): string[] {
  return temporariesIn(root).filter((name) => {
    return whileOpen(root, name, (descriptor) => stateOf(descriptor, nowMs) === 'elsewhere');
  });
}

function temporariesIn(root: number): string[] {
  return readdirSync(`/proc/self/fd/${root}/`).filter(
    (name) => name.startsWith(TEMPORARY_PREFIX) && !name.startsWith(KEPT_PREFIX),
  );
}

function removeLeftover(root: number, name: string, isKept: boolean, nowMs: number): boolean {
  return whileOpen(root, name, (descriptor) => {
    if (stateOf(descriptor, nowMs) !== 'gone') return false;
    if (isKept && keep(root, name)) return false;
    emptyAndRemove(root, name, descriptor);
    return true;
  });
}

/** False where it belongs to another user, or is not a temporary directory: then it stays. */
function whileOpen(root: number, name: string, use: (descriptor: number) => boolean): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(within(root, name), DIRECTORY_FLAGS);
    return use(descriptor);
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** As `ownerState`. @throws errors of the system */
function stateOf(descriptor: number, nowMs: number): ReturnType<typeof ownerState> {
  const { mtimeMs, ctimeMs } = fstatSync(descriptor);
  // One is of the clock of its host, the other of the file system, which may be that of a server.
  const touchedMs = Math.max(mtimeMs, ctimeMs);
  return ownerState(readFileSync(within(descriptor, OWNER_FILE), 'utf8'), nowMs - touchedMs);
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
