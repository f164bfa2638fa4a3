import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';

/**
 * Removes everything in a directory that belongs to this process. Directories in it are moved up before they are emptied:
 * so their depth does not matter, and neither do their modes. A removal that was interrupted leaves moved directories: the
 * names of one removal differ from those of all others.
 * @throws errors of the system
 */
export function emptyDirectory(directory: number): void {
  const unique = randomUUID();
  let moved = 0;
  for (let names = namesIn(directory); names.length > 0; names = namesIn(directory)) {
    for (const name of names) {
      const place = within(directory, name);
      const below = openIfDirectory(place);
      if (below === undefined) continue;
      try {
        for (const inner of namesIn(below)) {
          const found = within(below, inner);
          if (!isDirectory(found)) remove(found);
          else {
            // Moving a directory to another one needs the permission to write to it.
            chmodSync(found, 0o700);
            renameSync(found, within(directory, `moved-${unique}-${moved}`));
            moved += 1;
          }
        }
      } finally {
        closeSync(below);
      }
      rmdirSync(place);
    }
  }
}

function namesIn(directory: number): Buffer[] {
  return readdirSync(`/proc/self/fd/${directory}/`, 'buffer');
}

function isDirectory(place: Buffer): boolean {
  return lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Opens a directory; removes anything else, and returns undefined. */
function openIfDirectory(place: Buffer): number | undefined {
  if (!isDirectory(place)) {
    remove(place);
    return undefined;
  }
  chmodSync(place, 0o700);
  return openSync(place, DIRECTORY_FLAGS);
}

function remove(place: Buffer): void {
  try {
    unlinkSync(place);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
