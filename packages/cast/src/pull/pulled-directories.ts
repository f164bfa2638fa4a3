import { closeSync } from 'node:fs';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { StagedTree } from '../resume/staged-tree.js';
import { DeferredEntries } from '../writer/deferred-entries.js';
import type { Outcomes } from '../writer/outcomes.js';
import type { SyncPort } from '../writer/sync-port.js';
import { asCastError } from '../writer/system-errors.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';

/**
 * The directories of a fetch. They are made at the end, except where a file needs one; so an early end leaves no empty
 * ones. New directories are hidden until everything is in them.
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

  /** How many were finished. */
  get count(): number {
    return this.#deferred.directories;
  }

  /**
   * All files have their names: gives directories their modes and times, and new ones their names.
   * @param sync undefined: nothing is synced
   * @throws CastError where nothing more can be stored, or where a directory cannot be synced
   */
  async finish(entries: readonly ManifestEntry[], sync: SyncPort | undefined): Promise<void> {
    for (const [index, { kind, path, mode, time }] of entries.entries()) {
      if (kind !== 'directory') continue;
      const isThere = this.outcomes.attempt(index, path, () => void this.tree.open(path));
      if (isThere) this.#deferred.directory({ type: 'directory', index, mode, time, path });
    }
    await this.#syncEach(this.#deferred.finishStaged(), sync);
    for (const _ of this.#deferred.publish());
    await this.#syncEach(this.#deferred.finishDirectories(), sync);
  }

  async #syncEach(descriptors: Iterable<number>, sync: SyncPort | undefined): Promise<void> {
    for (const descriptor of descriptors) {
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
