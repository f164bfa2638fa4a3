import { protocolError } from '../errors.js';
import { shown } from '../stream/paths.js';
import type { ManifestEntry } from './manifest-entry.js';

const SLASH = 0x2f;

interface OpenDirectory {
  readonly path: Buffer;
  /** Name of its latest entry; empty before the first one. */
  latest: Buffer;
}

/**
 * Checks that the entries of a manifest come in the order of a sender: a directory before what is in it, and the names
 * in a directory sorted by their bytes. So no path comes twice, and a sender cannot make a receiver keep more facts
 * about directories than the receiver has directories. Keeps one name for each directory on the current path, and the
 * names of the paths that were given.
 */
export class ManifestOrder {
  readonly #roots = new Set<string>();
  readonly #open: OpenDirectory[] = [];

  /** Names of the paths that were given, as latin1, which keeps every byte. */
  get roots(): ReadonlySet<string> {
    return this.#roots;
  }

  /** The next entry. @throws CastError ERR_RDMC_CAST_PROTOCOL */
  add({ kind, path }: ManifestEntry): void {
    const slash = path.lastIndexOf(SLASH);
    if (slash === -1) this.#addRoot(path);
    else this.#addChild(path, path.subarray(0, slash), path.subarray(slash + 1));
    // The path is a view of a piece.
    if (kind === 'directory') this.#open.push({ path: Buffer.from(path), latest: Buffer.alloc(0) });
  }

  #addRoot(path: Buffer): void {
    const name = path.toString('latin1');
    if (this.#roots.has(name)) throw wrong(path, 'comes twice');
    this.#roots.add(name);
    this.#open.length = 0;
  }

  #addChild(path: Buffer, parent: Buffer, name: Buffer): void {
    while (this.#open.length > 0 && !this.#open.at(-1)!.path.equals(parent)) this.#open.pop();
    const directory = this.#open.at(-1);
    if (!directory) throw wrong(path, 'does not follow its directory');
    if (Buffer.compare(directory.latest, name) >= 0) throw wrong(path, 'comes twice, or is not in order');
    directory.latest = Buffer.from(name);
  }
}

function wrong(path: Buffer, what: string) {
  return protocolError(`the entry ${shown(path)} of the manifest ${what}`);
}
