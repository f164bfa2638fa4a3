/**
 * A *level* is a whole number that stands for all that members of a cluster exchange and store: frames of the mesh, messages and
 * shared memory of the protocols over it, and formats of files. A release speaks a range of levels, which begins at or below the
 * last level of the release before. So members of two releases work together while the machines are upgraded one after the other:
 *
 *   - Both ends of a connection say their ranges in its first frame (`@rdmc/mesh`). The connection has the highest level of both
 *     (`MeshConnection.level`; for the mesh's own connections it follows from `MeshPeer.levels`); ends without a common level are
 *     refused. Additions of a level are sent only on connections of that level or a higher one.
 *   - The coordinator's state has the level of the cluster (`@rdmc/tailwind`): the number of its format. Files are written in the
 *     formats of this level, whatever higher levels their writer speaks, so the release before can read them. An operator raises it.
 *   - Fields that a reader does not know are ignored. A level is needed only where that is not enough.
 *
 * Files are read from level 1 on: a file may be older than the cluster's level.
 */
import { parseWholeNumber } from './whole-number.js';

/** The levels that a process speaks: all from the least to the most. */
export interface Levels {
  /** From 1 on. */
  readonly least: number;
  /** At least `least`. */
  readonly most: number;
}

/** The level of a state and of files that do not say another one. */
export const FIRST_LEVEL = 1;

/** What each level adds to those before it, from FIRST_LEVEL on. The last one is the highest level of this release. */
export const LEVELS: readonly string[] = [
  'mesh protocol 5, tailwind 1, the state of coordinators in format 1, files of replicas in version 1',
];

/** The highest level of which a HELLO and a file have room for the number. */
export const MAX_LEVEL = 0xffff;

/** Stands for a release with other levels, in tests of upgrades: `RDMC_TEST_LEVELS=1-2`. */
const VARIABLE = 'RDMC_TEST_LEVELS';
/** The lowest level that this release speaks. */
const LEAST_LEVEL = FIRST_LEVEL;

/** The levels that this process speaks. @throws RangeError: RDMC_TEST_LEVELS is not a range */
export function ownLevels(environment: Readonly<Record<string, string | undefined>> = process.env): Levels {
  const text = environment[VARIABLE];
  if (text === undefined) return { least: LEAST_LEVEL, most: FIRST_LEVEL + LEVELS.length - 1 };
  const [least, most, more] = text.split('-').map((each) => parseWholeNumber(each, FIRST_LEVEL, MAX_LEVEL));
  if (least === undefined || most === undefined || least > most || more !== undefined) {
    throw new RangeError(`${VARIABLE} must be two levels such as 1-2, the lower one first, not '${text}'`);
  }
  return { least, most };
}

/** The highest level that both speak; undefined: there is none. */
export function commonLevel(one: Levels, other: Levels): number | undefined {
  const level = Math.min(one.most, other.most);
  return level >= Math.max(one.least, other.least) ? level : undefined;
}

/** Whether a process with these levels can be a member of a cluster of this level. */
export function speaks({ least, most }: Levels, level: number): boolean {
  return level >= least && level <= most;
}

/** The levels for people: `level 1`, or `levels 1 to 2`. */
export function levelsText({ least, most }: Levels): string {
  return least === most ? `level ${least}` : `levels ${least} to ${most}`;
}
