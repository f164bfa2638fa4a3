import { createSchedule } from '@rdmc/schedule';
import type { CheckedGroupOptions } from './checked-group-options.js';

/** The neighbours of a member; none in a group of many senders. Their queue pairs must be connected before the first message. */
export interface Neighbourhood {
  readonly rank: number;
  /** Ranks, ascending; a `pair` is an index of this list. */
  readonly neighbours: readonly number[];
  /** The neighbour that sends the first block of every message; −1 at the root. */
  readonly firstPair: number;
}

export function neighbourhoodOf(options: CheckedGroupOptions, memberId: number): Neighbourhood {
  const { algorithm, members, racks, senders } = options;
  const rank = members.indexOf(memberId);
  if (senders) return { rank, neighbours: [], firstPair: -1 };
  const schedule = createSchedule({ algorithm, nodes: members.length, blocks: 1, racks });
  const { sendsTo, receivesFrom, firstFrom } = schedule.neighbours(rank);
  const neighbours = [...new Set([...sendsTo, ...receivesFrom])].sort((a, b) => a - b);
  return { rank, neighbours, firstPair: firstFrom === undefined ? -1 : neighbours.indexOf(firstFrom) };
}
