import { randomOf } from './cosmos-load.js';

/** One placement in racks may be unlike all others. */
const SEEDS = [1, 2, 3];

/** The numbers below `count` in an order that is random, and the same for the same seed. */
function shuffled(count: number, seed: number): number[] {
  const random = randomOf(seed);
  const all = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [all[last], all[other]] = [all[other]!, all[last]!];
  }
  return all;
}

/**
 * Members in the order of their ranks, in several ways, for hosts that fill one rack after the other: in the order of the hosts a
 * schedule of neighbours hardly crosses the racks.
 */
export function rankOrders(members: number): number[][] {
  return SEEDS.map((seed) => shuffled(members, seed));
}
