import { expireKept, type RemovedKept, removeKept } from '../resume/kept-data.js';
import { leftoversElsewhere, removeLeftovers } from './leftovers.js';
import type { PrepareOrder } from './orders.js';
import { inReceivingDirectory } from './usable-directory.js';

/** The calls of a writer's thread that concern a receiving directory beside its casts. */
export const directoryCalls = {
  /** Before the first cast: checks that the directory can be written, and removes leftovers. Returns their names. */
  prepare({ directory, limit, resume }: PrepareOrder): string[] {
    return inReceivingDirectory(directory, (root) => {
      const removed = removeLeftovers(root, resume);
      expireKept(root, limit);
      return removed;
    });
  },

  /** Removes what interrupted casts have left. */
  removeKept({ directory }: { readonly directory: string }): RemovedKept {
    return inReceivingDirectory(directory, (root) => {
      // So that it is counted.
      removeLeftovers(root, true);
      return { ...removeKept(root), elsewhere: leftoversElsewhere(root) };
    });
  },
};
