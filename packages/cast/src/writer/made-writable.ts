import { fchmodSync, fstatSync } from 'node:fs';

const MODE_BITS = 0o7777;
const OWNER_MAY_WRITE = 0o200;

/**
 * Lets this user write to an open directory of their own whose mode does not: a cast gives directories modes without that, and a
 * later cast has other entries for them. Root may write to any.
 * @returns the mode before; undefined where nothing was changed
 */
export function makeWritable(directory: number): number | undefined {
  const user = process.geteuid!();
  if (user === 0) return undefined;
  const { uid, mode } = fstatSync(directory);
  if (uid !== user || (mode & OWNER_MAY_WRITE) !== 0) return undefined;
  try {
    fchmodSync(directory, (mode & MODE_BITS) | OWNER_MAY_WRITE);
    return mode & MODE_BITS;
  } catch {
    // Storing an entry says why.
    return undefined;
  }
}

/** Directories that a cast made writable. They get their modes back when it has stored everything, or ends early. */
export class MadeWritable {
  /** By path, as latin1. */
  readonly #modes = new Map<string, number>();

  /** @param directory an open one, with this path @throws errors of the system */
  make(path: string, directory: number): void {
    const before = makeWritable(directory);
    if (before !== undefined) this.#modes.set(path, before);
  }

  /** @param open finds a directory that exists */
  restore(open: (path: Buffer) => number | undefined): void {
    for (const [path, mode] of this.#modes) {
      try {
        const directory = open(Buffer.from(path, 'latin1'));
        if (directory !== undefined) restoreMode(directory, mode);
      } catch {
        // Somebody has moved it.
      }
    }
    this.#modes.clear();
  }
}

/** Unless somebody has given it another mode since. @param mode as `makeWritable` returned it @throws errors of the system */
export function restoreMode(directory: number, mode: number): void {
  const isAsMade = (fstatSync(directory).mode & MODE_BITS) === (mode | OWNER_MAY_WRITE);
  if (isAsMade) fchmodSync(directory, mode);
}
