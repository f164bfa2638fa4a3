import { Filter } from '../filters/filter.js';
import type { FilterRule } from '../filters/filter-rule.js';
import { type Entry, inSource, type Root, sourceOf } from '../reader/entries.js';
import { FileSource } from '../reader/file-source.js';
import { checkListedRoot, ListedPath } from '../reader/listed-paths.js';
import { resolveRoots } from '../reader/roots.js';
import { Survey } from '../reader/survey.js';
import { Listing, NO_TARGET, type OfferedEntry, type OfferedTree } from './offered-tree.js';

const SLASH = 0x2f;

/** What is cast. */
export interface CastPaths {
  readonly paths: readonly Uint8Array[];
  readonly rules: readonly FilterRule[];
  /** Only these paths, relative to the only one of `paths`. */
  readonly listed: readonly Uint8Array[] | undefined;
}

/** The paths of a cast, with links. They are listed when the tree is made. */
export class CastTree implements OfferedTree {
  readonly #roots: readonly Root[];
  readonly #survey: Survey;

  /** @throws CastError as `ReaderThread.beginSurvey` */
  constructor({ paths, rules, listed }: CastPaths) {
    this.#roots = resolveRoots(paths);
    if (listed) checkListedRoot(this.#roots);
    this.#survey = new Survey(this.#roots, {
      filter: new Filter(rules),
      listed: listed && ListedPath.tree(listed),
    });
  }

  list(): Listing {
    const { entries, problems } = this.#survey;
    const listing = new Listing();
    listing.problems.addAll(problems.kept, problems.count);
    for (const entry of entries) listing.add(offered(entry, entries));
    return listing;
  }

  open(source: Buffer): FileSource {
    const root = this.#roots.find((each) => isAtOrBelow(source, each.source))!;
    const path = Buffer.concat([root.name, source.subarray(root.source.length)]);
    return inSource({ root, path }, (place) => new FileSource(place, undefined));
  }

  close(): void {
    for (const { tree } of this.#roots) tree.close();
  }
}

function isAtOrBelow(path: Buffer, directory: Buffer): boolean {
  const isInside = path.length === directory.length || path[directory.length] === SLASH;
  return isInside && path.subarray(0, directory.length).equals(directory);
}

function offered(entry: Entry, entries: readonly Entry[]): OfferedEntry {
  const { kind, path } = entry;
  const source = sourceOf(entry);
  switch (entry.kind) {
    case 'directory':
      return { ...NO_TARGET, kind, source, path, mode: entry.mode, time: entry.time, size: 0 };
    case 'file':
      return { ...NO_TARGET, kind, source, path, mode: entry.mode, time: entry.time, size: entry.size };
    case 'symbolicLink':
      return { ...NO_TARGET, kind, source, path, mode: 0, time: entry.time, size: 0, target: entry.target };
    case 'hardLink': {
      const { targetIndex } = entry;
      const { time } = entries[targetIndex] as Extract<Entry, { kind: 'file' }>;
      return { ...NO_TARGET, kind, source, path, mode: 0, time, size: 0, targetIndex };
    }
  }
}
