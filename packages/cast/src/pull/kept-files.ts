import { CastError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { KeptStore } from '../resume/kept-store.js';
import { within } from '../writer/descriptor-paths.js';
import type { ReceivingTree } from '../writer/directory-tree.js';
import { OlderForm } from './older-form.js';

/** What interrupted fetches and casts have left in the directory of a fetch: complete files of new directories. */
export class KeptFiles {
  constructor(
    private readonly tree: ReceivingTree,
    private readonly store: KeptStore,
    /** Units in which the file system keeps times. */
    private readonly timeUnitNs: bigint,
  ) {}

  /** Gives a file its name, where one of the same size and time is left, and nothing has that name. Returns whether it did. */
  take(wanted: ManifestEntry): boolean {
    const { tree, store, timeUnitNs } = this;
    if (store.isEmpty || OlderForm.at(tree, wanted.path)) return false;
    return store.takeFile(
      wanted.path,
      (place, stats) => new OlderForm(place, stats).isOfSameTime(wanted, timeUnitNs),
      () => {
        const { directory, name } = tree.place(wanted.path);
        return within(directory, name);
      },
    );
  }

  /** Removes leftovers, the oldest first, until there is room. @throws CastError ERR_RDMC_NO_SPACE */
  makeRoom(neededBytes: number): void {
    const { freeBytes } = this.store;
    if (neededBytes > freeBytes) {
      const message = `the directory has ${freeBytes} bytes free, but ${neededBytes} are needed; make room there`;
      throw new CastError('ERR_RDMC_NO_SPACE', message);
    }
    this.store.makeRoom(neededBytes);
  }
}
