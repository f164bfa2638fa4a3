import {
  chmodSync,
  closeSync,
  fchmodSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
} from 'node:fs';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import type { Place } from '../writer/directory-tree.js';

const OWNER_ONLY = 0o700;
const MODE_BITS = 0o7777;
const SLASH = Buffer.from('/');

/** Who is told of what a directory needed to get its name. */
export interface Publishing {
  /** The entries of this directory were moved one by one. @param path in the cast */
  readonly onMerged: (path: Buffer) => void;
  /** This directory has got its mode after its name. It must be synced, and the descriptor closed. */
  readonly onLateMode: (descriptor: number) => void;
}

/**
 * Gives a directory that is complete its name, at once. Where a directory has that name by now, its entries get those of
 * the new one, as far as possible: one that cannot get its name does not keep the others from theirs.
 *
 * @param path its path in the cast
 * @throws errors of the system, the first one
 */
export function publish(from: Place, to: Place, path: Buffer, publishing: Publishing): void {
  const [source, target] = [within(from.directory, from.name), within(to.directory, to.name)];
  try {
    renameSync(source, target);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EACCES' || code === 'EPERM') publishReadOnly(source, target, path, publishing);
    else if (isTaken(error)) merge(source, target, path, publishing);
    else throw error;
  }
}

/**
 * A directory cannot be moved to another one without the permission to write to it, so it gets its mode when it has its name.
 * A process that is killed in between leaves a complete directory for its owner only; the next cast sets the mode. Under a
 * hidden name it would stay hidden: only those in the receiving directory itself are looked for.
 */
function publishReadOnly(source: Buffer, target: Buffer, path: Buffer, publishing: Publishing): void {
  const { mode } = lstatSync(source);
  chmodSync(source, OWNER_ONLY);
  // Somebody may put a link in its place.
  const descriptor = openSync(source, DIRECTORY_FLAGS);
  try {
    renameSync(source, target);
    fchmodSync(descriptor, mode & MODE_BITS);
  } catch (error) {
    closeSync(descriptor);
    if (!isTaken(error)) throw error;
    merge(source, target, path, publishing);
    return;
  }
  publishing.onLateMode(descriptor);
}

function isTaken(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOTEMPTY' || code === 'EEXIST';
}

function merge(source: Buffer, target: Buffer, path: Buffer, publishing: Publishing): void {
  const into = openSync(target, DIRECTORY_FLAGS);
  chmodSync(source, OWNER_ONLY);
  const from = openSync(source, DIRECTORY_FLAGS);
  let failure: { readonly error: unknown } | undefined;
  try {
    publishing.onMerged(path);
    for (const name of readdirSync(`/proc/self/fd/${from}/`, 'buffer')) {
      try {
        mergeEntry({ directory: from, name }, { directory: into, name }, path, publishing);
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

function mergeEntry(from: Place, to: Place, path: Buffer, publishing: Publishing): void {
  const source = within(from.directory, from.name);
  if (lstatSync(source).isDirectory()) publish(from, to, Buffer.concat([path, SLASH, from.name]), publishing);
  else renameSync(source, within(to.directory, to.name));
}
