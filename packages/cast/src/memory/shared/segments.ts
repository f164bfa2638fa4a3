import { closeSync, lstatSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  INDEX_MAGIC,
  INDEX_STATE_AT,
  type IndexStateValue,
  OWNER_SUFFIX,
  PART_SUFFIX,
  SHARED_DIRECTORY,
} from './layout.js';

export function sharedPath(name: string): string {
  return join(SHARED_DIRECTORY, name);
}

/** Removes the index of a name, if it is one, and tells those that have mapped it. */
export function removeIndex(name: string, state: IndexStateValue): void {
  const path = sharedPath(name);
  if (!isOwn(path)) return;
  const descriptor = openSync(path, 'r+');
  try {
    const magic = Buffer.alloc(INDEX_MAGIC.length);
    readSync(descriptor, magic, 0, magic.length, 0);
    if (!magic.equals(INDEX_MAGIC)) return;
    writeSync(descriptor, Uint8Array.of(state), 0, 1, INDEX_STATE_AT);
    rmSync(path, { force: true });
  } finally {
    closeSync(descriptor);
  }
}

/** Removes the contents of files of a name, or of one cast of it, and what is left of unfinished indices. */
export function removeSegments(name: string, cast = ''): void {
  for (const each of readdirSync(SHARED_DIRECTORY)) {
    if (!each.startsWith(name + PART_SUFFIX + cast) || each === name + OWNER_SUFFIX) continue;
    if (isOwn(sharedPath(each))) rmSync(sharedPath(each), { force: true });
  }
}

/** Writes all of `bytes`: where memory runs out, the system first writes what fits. @throws errors of the system */
export function writeFully(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
}

/** Whether it is a regular file of this user. */
export function isOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.uid === process.geteuid!();
}
