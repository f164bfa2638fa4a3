import type { SimulatedObject } from '@rdmc/simulator';
import { MIB } from '../../simulation/values.js';

/** Nodes that can get a copy; node 0 generates the load. */
const HOSTS = 15;
/** The median of the trace, in bytes. */
const MEDIAN = 12e6;
/** A log-normal distribution with this σ has the median and the mean of the trace: 12 · e^(σ²/2) = 29 MB. */
const SIGMA = 1.328;
/** "Hundreds of bytes" to "hundreds of MB". */
const LEAST = 300;
const MOST = 900e6;

/** Random numbers from 0 to below 1 (mulberry32): the same load in every run. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** All groups of the generator and three hosts: 455 of them. */
export function allGroups(): number[][] {
  const groups: number[][] = [];
  for (let a = 1; a <= HOSTS; a += 1) {
    for (let b = a + 1; b <= HOSTS; b += 1) {
      for (let c = b + 1; c <= HOSTS; c += 1) groups.push([0, a, b, c]);
    }
  }
  return groups;
}

/** Objects like those of the trace of Cosmos, which is not public: each to a random group. */
export function cosmosLoad(objects: number, seed = 1): SimulatedObject[] {
  const random = randomOf(seed);
  const groups = allGroups();
  return Array.from({ length: objects }, () => {
    const members = groups[Math.floor(random() * groups.length)]!;
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const byteLength = Math.round(Math.min(MOST, Math.max(LEAST, MEDIAN * Math.exp(SIGMA * normal))));
    return { members, byteLength };
  });
}

/** Blocks of the load, as in the other figures. */
export const BLOCK_BYTES = MIB;
