import { ProblemList } from '../problems.js';
import { shown } from '../stream/paths.js';
import { asCastError, isFatal } from './system-errors.js';

/** Failed entries of a cast at this receiver. */
export class Outcomes {
  readonly problems = new ProblemList();
  /** Entries that do not exist under their names; hard links to them cannot be made. */
  readonly missing = new Set<number>();

  /**
   * Runs an action for one entry. Adds a problem and returns false where it failed.
   * @throws CastError where nothing more can be stored at all
   */
  attempt(index: number, path: Buffer, action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      if (isFatal(error)) throw asCastError(error);
      const { code, message } = asCastError(error);
      this.problems.add({ path: shown(path), code, message });
      this.missing.add(index);
      return false;
    }
  }
}
