/*
 * To whom each member of a group of one sender writes small messages, by rank; 0 is the root.
 *
 *   up to MOST_FLAT_MEMBERS              more: f relays, f of them at least for f children each
 *
 *          0                                          0
 *     ┌──┬─┴┬──┐                             ┌────────┼────────┐
 *     1  2  3  4                             1        2        3       relays
 *                                         ┌──┼──┐   ┌─┴─┐    ┌─┴─┐
 *                                         4  7  10  5   8    6   9
 *
 * There are never more than two levels: the acks of a level may be late by half a ring, and those of the next one by a quarter
 * more. With many levels, a root could wait for room that all have made.
 */
import { MOST_FLAT_MEMBERS } from '../constants.js';

/** Relays of a group of that many members: the least f for which none of them, nor the root, has more than f children. */
export function relayCount(members: number): number {
  return members <= MOST_FLAT_MEMBERS ? 0 : Math.ceil((Math.sqrt(4 * members - 3) - 1) / 2);
}

/** The ranks to which that rank writes. */
export function childrenOf(rank: number, members: number): number[] {
  const relays = relayCount(members);
  const ranks = Array.from({ length: members }, (_, each) => each);
  return ranks.filter((each) => each > 0 && parentIn(each, relays) === rank);
}

/** The rank that writes to that rank, which is not the root. */
export function parentOf(rank: number, members: number): number {
  return parentIn(rank, relayCount(members));
}

function parentIn(rank: number, relays: number): number {
  return rank <= relays || relays === 0 ? 0 : 1 + ((rank - 1) % relays);
}
