import { createHash } from 'node:crypto';
import { TEMPORARY_PREFIX } from '../constants.js';

/*
 * Names in a receiving directory:
 *
 *   .rdmc-cast-ID/                 the temporary directory of a cast in progress
 *   .rdmc-cast-kept-ID/            what an interrupted cast has left
 *     owner                        the process that made it
 *     boot                         without fsync: the boot of the host; nothing in here counts after another one.
 *                                  Empty: nothing in here counts (a cast that is not to be continued)
 *     bytes                        how much it takes on disk, so that nobody has to look at every file (kept-bytes.ts)
 *     part-HASH                    a partial file; HASH is of its path in the cast
 *     journal-HASH                 its journal, see journal.ts
 *     tree/                        new directories with their complete files, under their paths in the cast
 */

export const KEPT_PREFIX = `${TEMPORARY_PREFIX}kept-`;
export const BOOT_FILE = 'boot';
export const BYTES_FILE = 'bytes';
export const TREE = 'tree';
const PART_PREFIX = 'part-';
const JOURNAL_PREFIX = 'journal-';
const NAME_DIGITS = 32;

/** Name of the partial file of a path. */
export function partName(path: Buffer): string {
  return PART_PREFIX + digitsOf(path);
}

/** Name of the journal of that file. */
export function journalName(path: Buffer): string {
  return JOURNAL_PREFIX + digitsOf(path);
}

/** The journal of the partial file of that name; undefined where it is not a partial file. */
export function journalOf(name: string): string | undefined {
  return name.startsWith(PART_PREFIX) ? JOURNAL_PREFIX + name.slice(PART_PREFIX.length) : undefined;
}

/** The kept form of the name of a temporary directory. */
export function keptName(temporary: string): string {
  return temporary.startsWith(KEPT_PREFIX)
    ? temporary
    : KEPT_PREFIX + temporary.slice(TEMPORARY_PREFIX.length);
}

function digitsOf(path: Buffer): string {
  return createHash('sha256').update(path).digest('hex').slice(0, NAME_DIGITS);
}
