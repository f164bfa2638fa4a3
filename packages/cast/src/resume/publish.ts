import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, lstatSync, openSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { TEMPORARY_PREFIX } from '../constants.js';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import type { Place } from '../writer/directory-tree.js';

const OWNER_ONLY = 0o700;
const MODE_BITS = 0o7777;
const SLASH = Buffer.from('/');

/**
 * Gives a directory that is complete its name, at once. Where a directory has that name by now, its entries get those of
 * the new one, as far as possible: one that cannot get its name does not keep the others from theirs.
 *
 * @param path its path in the cast
 * @param onMerged called with the path of each directory whose entries were moved one by one
 * @throws errors of the system, the first one
 */
export function publish(from: Place, to: Place, path: Buffer, onMerged: (path: Buffer) => void): void {
  const [source, target] = [within(from.directory, from.name), within(to.directory, to.name)];
  try {
    renameSync(source, target);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EACCES' || code === 'EPERM') publishReadOnly(source, to, path, onMerged);
    else if (code === 'ENOTEMPTY' || code === 'EEXIST') merge(source, target, path, onMerged);
    else throw error;
  }
}

/**
 * A directory cannot be moved to another one without the permission to write to it. So it is moved under a hidden name
 * first, and gets its mode and then its name there. Where it cannot have that name, it is moved back.
 */
function publishReadOnly(source: Buffer, to: Place, path: Buffer, onMerged: (path: Buffer) => void): void {
  const { mode } = lstatSync(source);
  const name = Buffer.from(`${TEMPORARY_PREFIX}${randomUUID()}`);
  const hidden = within(to.directory, name);
  chmodSync(source, OWNER_ONLY);
  renameSync(source, hidden);
  chmodSync(hidden, mode & MODE_BITS);
  const target = within(to.directory, to.name);
  try {
    renameSync(hidden, target);
  } catch (error) {
    chmodSync(hidden, OWNER_ONLY);
    renameSync(hidden, source);
    const code = codeOf(error);
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    merge(source, target, path, onMerged);
  }
}

function merge(source: Buffer, target: Buffer, path: Buffer, onMerged: (path: Buffer) => void): void {
  const into = openSync(target, DIRECTORY_FLAGS);
  chmodSync(source, OWNER_ONLY);
  const from = openSync(source, DIRECTORY_FLAGS);
  let failure: { readonly error: unknown } | undefined;
  try {
    onMerged(path);
    for (const name of readdirSync(`/proc/self/fd/${from}/`, 'buffer')) {
      try {
        mergeEntry({ directory: from, name }, { directory: into, name }, path, onMerged);
      } catch (error) {
        failure ??= { error };
      }
    }
  } finally {
    closeSync(from);
    closeSync(into);
  }
  if (failure) throw failure.error;
  rmdirSync(source);
}

function mergeEntry(from: Place, to: Place, path: Buffer, onMerged: (path: Buffer) => void): void {
  const source = within(from.directory, from.name);
  if (lstatSync(source).isDirectory()) publish(from, to, Buffer.concat([path, SLASH, from.name]), onMerged);
  else renameSync(source, within(to.directory, to.name));
}
