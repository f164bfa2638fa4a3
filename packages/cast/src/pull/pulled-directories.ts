import { closeSync } from 'node:fs';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { StagedTree } from '../resume/staged-tree.js';
import { DeferredEntries } from '../writer/deferred-entries.js';
import type { Outcomes } from '../writer/outcomes.js';
import type { SyncPort } from '../writer/sync-port.js';
import { asCastError } from '../writer/system-errors.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';

/**
 * The directories and links of a fetch. They are made at the end, except where a file needs a directory; so an early end
 * leaves no empty ones. New directories are hidden until everything is in them.
 */
export class PulledDirectories {
  readonly #deferred: DeferredEntries;

  constructor(
    private readonly tree: StagedTree,
    temporary: TemporaryDirectory,
    private readonly outcomes: Outcomes,
    /** Called when the disk has done something. */
    private readonly active: () => void,
  ) {
    this.#deferred = new DeferredEntries(tree, temporary, outcomes, active);
  }

  /** Links that were made. */
  links = 0;

  /** How many directories were finished. */
  get count(): number {
    return this.#deferred.directories;
  }

  /**
   * All files have their names: makes links, gives directories their modes and times, and new ones their names.
   * @param sync undefined: nothing is synced
   * @throws CastError where nothing more can be stored, or where a directory cannot be synced
   */
  async finish(entries: readonly ManifestEntry[], sync: SyncPort | undefined): Promise<void> {
    for (const [index, entry] of entries.entries()) this.#add(index, entry);
    for (const isMade of this.#deferred.links()) if (isMade) this.links += 1;
    await this.#syncEach(this.#deferred.finishStaged(), sync);
    await this.#syncEach(this.#deferred.publish(), sync);
    await this.#syncEach(this.#deferred.finishDirectories(), sync);
  }

  #add(index: number, { kind, path, mode, time, target, targetIndex }: ManifestEntry): void {
    if (kind === 'directory') {
      const isThere = this.outcomes.attempt(index, path, () => void this.tree.open(path));
      if (isThere) this.#deferred.directory({ type: 'directory', index, mode, time, path });
    } else if (kind === 'symbolicLink')
      this.#deferred.symbolicLink({ type: 'symbolicLink', index, path, time, target });
    else if (kind === 'hardLink')
      this.#deferred.hardLink({ type: 'hardLink', index, path, targetIndex, targetPath: target });
  }

  async #syncEach(descriptors: Iterable<number | undefined>, sync: SyncPort | undefined): Promise<void> {
    for (const descriptor of descriptors) {
      if (descriptor === undefined) continue;
      try {
        await sync?.directory(descriptor);
      } catch (error) {
        throw asCastError(error);
      } finally {
        closeSync(descriptor);
        this.active();
      }
    }
  }
}
