import { closeSync, mkdirSync, openSync } from 'node:fs';
import { codeOf } from '../errors.js';
import { DIRECTORY_FLAGS, within } from '../writer/descriptor-paths.js';
import { DirectoryTree, type Place, type ReceivingTree } from '../writer/directory-tree.js';
import { TREE } from './names.js';
import { type Publishing, publish } from './publish.js';

const SLASH = 0x2f;

/**
 * The directories of one cast. A new directory is made in the temporary directory, under its path in the cast, and gets
 * its name at the end, with everything in it, its mode and its times. So nobody sees it half filled, also when this
 * process is killed. One without write permission may get its mode right after its name: see `publish.ts`.
 */
export class StagedTree implements ReceivingTree {
  readonly #real: DirectoryTree;
  #staged: { readonly descriptor: number; readonly tree: DirectoryTree } | undefined;
  /** Paths of the topmost directories that are new, as latin1. */
  readonly #tops = new Set<string>();
  /** Paths whose directories had appeared meanwhile: they got the entries of the new ones. */
  readonly #merged = new Set<string>();

  constructor(
    root: number,
    /** Descriptor of the temporary directory. */
    private readonly temporary: number,
  ) {
    this.#real = new DirectoryTree(root);
  }

  /** As `DirectoryTree.place`. */
  place(path: Buffer): Place {
    return this.#treeOf(parentOf(path)).place(path);
  }

  /** As `DirectoryTree.open`. */
  open(path: Buffer): number {
    return this.#treeOf(path).open(path);
  }

  /** As `DirectoryTree.existing`. */
  existing(path: Buffer): number | undefined {
    return (this.isStaged(path) ? this.#stagedTree : this.#real).existing(path);
  }

  /** As `DirectoryTree.openApart`. */
  openApart(path: Buffer): number {
    return this.#treeOf(path).openApart(path);
  }

  recordChange(path: Buffer): void {
    this.#real.recordChange(path);
  }

  restoreModes(): void {
    this.#real.restoreModes();
  }

  /** New directories whose entries changed. */
  get changedStaged(): Buffer[] {
    return this.#staged?.tree.changed.filter((path) => this.isStaged(path)) ?? [];
  }

  /** Directories whose entries changed, and that are not new; the path of length 0 is the root. */
  get changed(): Buffer[] {
    return [...this.#real.changed, ...[...this.#merged].map((path) => Buffer.from(path, 'latin1'))];
  }

  /** Whether a directory is new, or in a new one. */
  isStaged(path: Buffer): boolean {
    if (this.#tops.size === 0) return false;
    for (let end = path.length; end > 0; end = path.lastIndexOf(SLASH, end - 1)) {
      if (this.#tops.has(path.toString('latin1', 0, end))) return true;
    }
    return false;
  }

  /** Whether its entries were moved to a directory that had appeared meanwhile. */
  isMerged(path: Buffer): boolean {
    return this.#merged.has(path.toString('latin1'));
  }

  /** Paths of the topmost new directories. */
  get tops(): Buffer[] {
    return [...this.#tops].map((path) => Buffer.from(path, 'latin1'));
  }

  /**
   * Gives a topmost new directory its name.
   * @param onLateMode as `Publishing.onLateMode`
   * @throws CastError ERR_RDMC_PATH_CONFLICT where something else has that name; errors of the system
   */
  publish(top: Buffer, onLateMode: Publishing['onLateMode']): void {
    this.#tops.delete(top.toString('latin1'));
    const staged = this.#stagedTree.place(top);
    const { directory, name } = this.#real.place(top);
    const onMerged = (path: Buffer): void => void this.#merged.add(path.toString('latin1'));
    publish(staged, { directory, name }, top, { onMerged, onLateMode });
  }

  /** All directories are found again. */
  close(): void {
    this.#real.close();
    this.#staged?.tree.close();
  }

  /** Closes it for good. */
  end(): void {
    this.restoreModes();
    this.close();
    if (this.#staged) closeSync(this.#staged.descriptor);
    this.#staged = undefined;
  }

  /** The tree that has a directory, or in which it is to be made. */
  #treeOf(path: Buffer): DirectoryTree {
    if (path.length === 0) return this.#real;
    if (this.isStaged(path)) return this.#stagedTree;
    const missing = this.#real.firstMissing(path);
    if (missing === undefined) return this.#real;
    this.#tops.add(missing.toString('latin1'));
    return this.#stagedTree;
  }

  get #stagedTree(): DirectoryTree {
    this.#staged ??= this.#openStaged();
    return this.#staged.tree;
  }

  #openStaged() {
    const place = within(this.temporary, TREE);
    try {
      mkdirSync(place, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const descriptor = openSync(place, DIRECTORY_FLAGS);
    return { descriptor, tree: new DirectoryTree(descriptor, true) };
  }
}

function parentOf(path: Buffer): Buffer {
  return path.subarray(0, Math.max(path.lastIndexOf(SLASH), 0));
}
