import { ProblemList } from '../problems.js';
import { shown } from '../stream/paths.js';
import { asCastError, isFatal } from './system-errors.js';

/** What became of the entries of a cast at this receiver. */
export class Outcomes {
  readonly problems = new ProblemList();
  /** Entries of this cast that are not there under their names; what is linked to them cannot be, either. */
  readonly missing = new Set<number>();

  /**
   * Does something for one entry; false where it failed, which then is that entry's problem.
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
