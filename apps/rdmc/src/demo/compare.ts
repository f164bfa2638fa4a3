import { type Algorithm, automaticBlockSize, type Group, type MemoryRegion } from '@rdmc/group';
import { createSchedule } from '@rdmc/schedule';
import type { LocalCluster } from '../cluster/local-cluster.js';
import { median } from '../statistics.js';
import type { Measurement } from './events.js';

const LEAST_ROUNDS = 3;
const MOST_ROUNDS = 5;
/** After this time, rounds beyond the least number are left out. */
const BUDGET_SECONDS = 4;

export interface Comparison {
  readonly cluster: LocalCluster;
  readonly groups: ReadonlyMap<Algorithm, Group>;
  readonly region: MemoryRegion;
  readonly byteLength: number;
  readonly members: number;
  readonly blockSize: 'auto' | number;
  readonly oneCopySeconds: number;
  /** Called before each message with the share of work done, from 0 to 1, and the next algorithm. */
  onProgress(share: number, algorithm: Algorithm): void;
}

/** Blocks and steps of a message. */
export function shapeOf(
  algorithm: Algorithm,
  { members, byteLength, blockSize }: Pick<Comparison, 'members' | 'byteLength' | 'blockSize'>,
): { blockBytes: number; blocks: number; steps: number } {
  const blockBytes = blockSize === 'auto' ? automaticBlockSize(byteLength, members) : blockSize;
  const blocks = Math.ceil(byteLength / blockBytes);
  return { blockBytes, blocks, steps: createSchedule({ algorithm, nodes: members, blocks }).steps };
}

/**
 * Sends the same message with each algorithm in turn, round after round, so that other load on the machine affects all
 * of them equally. The first round is warm-up and is not counted.
 */
async function timeRounds(comparison: Comparison): Promise<Map<Algorithm, number[]>> {
  const { cluster, groups, region, byteLength } = comparison;
  const times = new Map<Algorithm, number[]>([...groups.keys()].map((algorithm) => [algorithm, []]));
  const messages = groups.size * (MOST_ROUNDS + 1);
  const begin = performance.now();
  let sent = 0;
  for (let round = 0; round <= MOST_ROUNDS; round += 1) {
    const spent = (performance.now() - begin) / 1000;
    if (round > LEAST_ROUNDS && spent > BUDGET_SECONDS) break;
    for (const [algorithm, group] of groups) {
      comparison.onProgress(sent / messages, algorithm);
      const seconds = await cluster.multicast(group, region, byteLength);
      if (round > 0) times.get(algorithm)!.push(seconds);
      sent += 1;
    }
  }
  return times;
}

/** Measures all algorithms on the given groups. */
export async function compare(comparison: Comparison): Promise<Measurement[]> {
  const { members, byteLength, oneCopySeconds } = comparison;
  const times = await timeRounds(comparison);
  return [...times].map(([algorithm, values]) => {
    const { blocks, steps } = shapeOf(algorithm, comparison);
    const seconds = median(values);
    return {
      algorithm,
      blocks,
      steps,
      rounds: values.length,
      seconds,
      fastestSeconds: Math.min(...values),
      slowestSeconds: Math.max(...values),
      deliveredBytesPerSecond: ((members - 1) * byteLength) / seconds,
      timesOneCopy: seconds / oneCopySeconds,
    };
  });
}
