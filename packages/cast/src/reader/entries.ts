import type { Timestamp } from '../stream/records.js';
import type { SourceTree } from './source-tree.js';

/** One of the paths that are cast. */
export interface Root {
  /** Its path on this machine, with links resolved. */
  readonly source: Buffer;
  /** Its name in the cast: the last component. */
  readonly name: Buffer;
  /** What is below it. */
  readonly tree: SourceTree;
}

interface Located {
  readonly root: Root;
  /** Index of the directory that it is in; -1 for a root. */
  readonly parent: number;
  /** Path in the cast; it begins with the root's name. */
  readonly path: Buffer;
}

/** An entry with an owner of its own. */
interface Owned extends Located {
  /** In an archive cast: a block of `archive/layout.ts`. */
  readonly attributes: Buffer | undefined;
}

export interface DirectoryEntry extends Owned {
  readonly kind: 'directory';
  readonly mode: number;
  readonly time: Timestamp;
}

/** A file as it was when the entries were listed. They are read again when it is opened. */
export interface FileEntry extends Owned {
  readonly kind: 'file';
  readonly size: number;
  /** As `size`, without the holes of a sparse file as far as its block count shows them. */
  readonly contentBytes: number;
  readonly mode: number;
  readonly time: Timestamp;
}

export interface SymbolicLinkEntry extends Owned {
  readonly kind: 'symbolicLink';
  readonly time: Timestamp;
  readonly target: Buffer;
}

/** Another name of an earlier file. */
export interface HardLinkEntry extends Located {
  readonly kind: 'hardLink';
  /** Index of that file. */
  readonly targetIndex: number;
}

export type Entry = DirectoryEntry | FileEntry | SymbolicLinkEntry | HardLinkEntry;

/**
 * Does something with an entry on this machine: reads it, for example. As `SourceTree.at`.
 * @param action gets its path
 */
export function inSource<T>({ root, path }: Pick<Located, 'root' | 'path'>, action: (place: Buffer) => T): T {
  return root.tree.at(path.subarray(Math.min(root.name.length + 1, path.length)), action);
}

/** The path of an entry on this machine, as a name for it: what has that path may be another entry by now. */
export function sourceOf({ root, path }: Pick<Located, 'root' | 'path'>): Buffer {
  return Buffer.concat([root.source, path.subarray(root.name.length)]);
}

/** A time of `fs.Stats` with bigints. */
export function timestamp(nanoseconds: bigint): Timestamp {
  const billion = 1_000_000_000n;
  const rest = ((nanoseconds % billion) + billion) % billion;
  return { seconds: Number((nanoseconds - rest) / billion), nanoseconds: Number(rest) };
}
