import { chmodSync, closeSync, lstatSync, openSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { TEMPORARY_PREFIX } from '../constants.js';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import type { Place } from '../writer/directory-tree.js';

const OWNER_ONLY = 0o700;
const SLASH = Buffer.from('/');

/**
 * Gives a directory that is complete its name, at once. Where a directory has that name by now, its entries get those of
 * the new one.
 *
 * @param path its path in the cast
 * @param onMerged called with the path of each directory whose entries were moved one by one
 * @throws errors of the system
 */
export function publish(from: Place, to: Place, path: Buffer, onMerged: (path: Buffer) => void): void {
  const [source, target] = [within(from.directory, from.name), within(to.directory, to.name)];
  try {
    renameSync(source, target);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EACCES' || code === 'EPERM') renameReadOnly(source, to, target);
    else if (code === 'ENOTEMPTY' || code === 'EEXIST') merge(source, target, path, onMerged);
    else throw error;
  }
}

/**
 * A directory cannot be moved to another one without the permission to write to it. So it is moved under a hidden name
 * first, and gets its mode and then its name there.
 */
function renameReadOnly(source: Buffer, to: Place, target: Buffer): void {
  const { mode } = lstatSync(source);
  const hidden = within(to.directory, `${TEMPORARY_PREFIX}${process.pid}-${Date.now()}`);
  chmodSync(source, OWNER_ONLY);
  renameSync(source, hidden);
  chmodSync(hidden, mode & 0o7777);
  renameSync(hidden, target);
}

function merge(source: Buffer, target: Buffer, path: Buffer, onMerged: (path: Buffer) => void): void {
  const into = openSync(target, DIRECTORY_FLAGS);
  chmodSync(source, OWNER_ONLY);
  const from = openSync(source, DIRECTORY_FLAGS);
  try {
    onMerged(path);
    for (const name of readdirSync(`/proc/self/fd/${from}/`, 'buffer')) {
      const [one, other] = [
        { directory: from, name },
        { directory: into, name },
      ];
      if (lstatSync(within(from, name)).isDirectory())
        publish(one, other, Buffer.concat([path, SLASH, name]), onMerged);
      else renameSync(within(from, name), within(into, name));
    }
  } finally {
    closeSync(from);
    closeSync(into);
  }
  rmdirSync(source);
}
