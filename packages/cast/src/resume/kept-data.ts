import { readdirSync, statfsSync } from 'node:fs';
import { KEPT_DAYS_MS } from '../constants.js';
import { codeOf } from '../errors.js';
import { KeptDirectory } from './kept-directory.js';
import { KEPT_PREFIX } from './names.js';
import { limitBytes, type ResumeLimit } from './resume-limit.js';

/** What was removed of the leftovers of interrupted casts. */
export interface RemovedKept {
  /** Interrupted casts that had left something. */
  readonly casts: number;
  /** Bytes of that on disk. */
  readonly bytes: number;
  /**
   * Names of hidden directories whose casts may be in progress in other containers or on other hosts: they stay until they were
   * not used for a day.
   */
  readonly elsewhere: readonly string[];
}

type Removed = Omit<RemovedKept, 'elsewhere'>;

/** Opens what interrupted casts have left in a directory, the oldest first. The caller closes each. */
export function openKept(root: number): KeptDirectory[] {
  return readdirSync(`/proc/self/fd/${root}/`)
    .filter((name) => name.startsWith(KEPT_PREFIX))
    .flatMap((name) => KeptDirectory.open(root, name) ?? [])
    .sort((a, b) => a.usedAtMs - b.usedAtMs);
}

/** Removes what is older than seven days, and then the oldest, until the rest is within the limit. */
export function expireKept(root: number, limit: ResumeLimit, nowMs = Date.now()): Removed {
  return removeSome(root, (kept) => {
    const most = limitBytes(limit, root);
    let bytes = kept.reduce((sum, each) => sum + each.diskBytes, 0);
    return kept.filter((each) => {
      const isOver = bytes > most || nowMs - each.usedAtMs > KEPT_DAYS_MS;
      if (isOver) bytes -= each.diskBytes;
      return isOver;
    });
  });
}

/** Removes everything that interrupted casts have left. */
export function removeKept(root: number): Removed {
  return removeSome(root, (kept) => kept);
}

/** Removes the oldest leftovers until the file system has room for so many bytes. */
export function makeRoom(root: number, neededBytes: number): Removed {
  return removeSome(root, (kept) => {
    let free = freeBytesOf(root);
    return kept.filter((each) => {
      const isNeeded = free < neededBytes;
      if (isNeeded) free += each.diskBytes;
      return isNeeded;
    });
  });
}

const FULL = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Does something that needs a little room: where the disk is full, the oldest leftovers are removed until it succeeds.
 * @throws what `action` throws
 */
export function withRoom<T>(root: number, action: () => T): T {
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (!FULL.has(codeOf(error) ?? '')) throw error;
      if (removeSome(root, ([oldest]) => (oldest ? [oldest] : [])).casts === 0) throw error;
    }
  }
}

/** Bytes that can still be stored in a directory. */
export function freeBytesOf(root: number): number {
  const { bavail, bsize } = statfsSync(`/proc/self/fd/${root}`);
  return bavail * bsize;
}

function removeSome(
  root: number,
  choose: (kept: readonly KeptDirectory[]) => readonly KeptDirectory[],
): Removed {
  const kept = openKept(root);
  let [casts, bytes] = [0, 0];
  try {
    for (const each of choose(kept)) {
      const its = each.diskBytes;
      try {
        each.remove();
        casts += 1;
        bytes += its;
      } catch {
        // Another receiver removes it, or the disk fails.
      }
    }
  } finally {
    for (const each of kept) each.close();
  }
  return { casts, bytes };
}
