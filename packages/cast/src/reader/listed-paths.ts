import { statSync } from 'node:fs';
import { CastError, invalidOption } from '../errors.js';
import { checkPath, componentsOf, shown } from '../stream/paths.js';
import type { Root } from './entries.js';

/** A name in a list of paths, and the listed names below it. */
export class ListedPath {
  /** It was given itself, rather than only as a directory of another path. */
  isListed = false;
  readonly #children = new Map<string, ListedPath>();

  /**
   * The tree of some paths, relative to one directory. Slashes at the ends, repeated slashes and components `.` have no
   * effect.
   * @throws CastError ERR_RDMC_UNSAFE_PATH
   */
  static tree(paths: readonly Uint8Array[]): ListedPath {
    const root = new ListedPath();
    for (const path of paths) root.#add(Buffer.from(path));
    return root;
  }

  /** Sorted by the bytes of their names. */
  children(): { name: Buffer; listed: ListedPath }[] {
    return [...this.#children]
      .map(([name, listed]) => ({ name: Buffer.from(name, 'latin1'), listed }))
      .sort((a, b) => Buffer.compare(a.name, b.name));
  }

  #add(path: Buffer): void {
    const names = componentsOf(path).filter((name) => name.length > 0 && name.toString('latin1') !== '.');
    let at: ListedPath = this;
    for (const name of names) {
      checkListed(path, name);
      const key = name.toString('latin1');
      const child = at.#children.get(key) ?? new ListedPath();
      at.#children.set(key, child);
      at = child;
    }
    at.isListed = true;
  }
}

function checkListed(path: Buffer, name: Buffer): void {
  if (name.toString('latin1') === '..') {
    const message = `the listed path ${shown(path)} is refused: it contains '..'; list paths below the directory`;
    throw new CastError('ERR_RDMC_UNSAFE_PATH', message);
  }
  checkPath(Buffer.concat([Buffer.from('x/'), name]));
}

/** Listed paths are relative to one directory. @throws CastError ERR_RDMC_INVALID_OPTION */
export function checkListedRoot(roots: readonly Root[]): void {
  const [root] = roots;
  if (roots.length === 1 && statSync(root!.source).isDirectory()) return;
  throw invalidOption(
    'a list of paths needs exactly one path to cast: the directory that they are relative to',
  );
}
