// This entry point does not use APIs of Node.js; this package must run without them.
import { isWholeNumber, optionChecks } from '@rdmc/common/checks';
import { type Algorithm, algorithms, isAlgorithm } from './algorithms.js';
import { ScheduleError, shown } from './errors.js';
import { MAX_BLOCKS, MAX_NODES, MIN_NODES } from './limits.js';
import { checkRacks, type RackId } from './racks.js';

/** The options of {@link createSchedule}. */
export interface ScheduleOptions {
  /** The rule by which blocks travel. */
  readonly algorithm: Algorithm;
  /** Members, the root included: 2 to 1,048,576. */
  readonly nodes: number;
  /** Blocks of the message: 1 to 2^32. */
  readonly blocks: number;
  /** The rack of each rank, `nodes` entries, the root's first. Needed by 'hybrid', unused by the others. */
  readonly racks?: readonly RackId[] | undefined;
}

const KNOWN = ['algorithm', 'nodes', 'blocks', 'racks'];

const { onlyKnownOptions } = optionChecks(
  (_, message) => new ScheduleError('ERR_RDMC_UNKNOWN_OPTION', message),
);

/** Throws a {@link ScheduleError} unless `options` describes a schedule. */
export function checkOptions(options: unknown): asserts options is ScheduleOptions {
  onlyKnownOptions('createSchedule', options, KNOWN);
  checkValues(options as Partial<ScheduleOptions>);
}

function checkValues({ algorithm, nodes, blocks, racks }: Partial<ScheduleOptions>): void {
  if (!isAlgorithm(algorithm)) {
    throw new ScheduleError(
      'ERR_RDMC_UNKNOWN_ALGORITHM',
      `unknown algorithm ${shown(algorithm)}: choose one of ${algorithms.join(', ')}`,
    );
  }
  if (!isWholeNumber(nodes, MIN_NODES, MAX_NODES)) {
    throw new ScheduleError(
      'ERR_RDMC_INVALID_NODES',
      `nodes is ${shown(nodes)}: a group needs at least two members, the root and a receiver, and takes at most ${MAX_NODES}`,
    );
  }
  if (!isWholeNumber(blocks, 1, MAX_BLOCKS)) {
    throw new ScheduleError(
      'ERR_RDMC_INVALID_BLOCKS',
      `blocks is ${shown(blocks)}: give an integer from 1 to ${MAX_BLOCKS} (a message of 0 bytes is one empty block); for more, use larger blocks`,
    );
  }
  if (racks !== undefined) checkRacks(racks, nodes);
  else if (algorithm === 'hybrid') {
    throw new ScheduleError(
      'ERR_RDMC_INVALID_RACKS',
      "algorithm 'hybrid' needs racks: an array with the rack of each rank, root first",
    );
  }
}
