import { type Algorithm, automaticBlockSize, type Group, type MemoryRegion } from '@rdmc/group';
import { createSchedule } from '@rdmc/schedule';
import type { LocalCluster } from '../cluster/local-cluster.js';
import { median } from '../statistics.js';
import type { ComparisonView } from './comparison-view.js';
import type { Measurement } from './events.js';

const MOST_ROUNDS = 5;
/** Another round begins only where the rounds before it and one more take less. */
const BUDGET_SECONDS = 12;
/** Of each group's first message, which is not counted: connections are used, and code is compiled. */
const WARM_UP_BYTES = 4 << 20;

export interface Comparison {
  readonly cluster: LocalCluster;
  /** One receiver: the time of one copy. */
  readonly single: Group;
  readonly groups: ReadonlyMap<Algorithm, Group>;
  readonly region: MemoryRegion;
  readonly byteLength: number;
  /** Bytes that these groups have sent already. */
  readonly sentBytes: ReadonlyMap<Group, number>;
  readonly members: number;
  readonly blockSize: 'auto' | number;
  readonly view: ComparisonView;
}

export interface ComparisonResult {
  readonly oneCopySeconds: number;
  readonly oneCopySteps: number;
  readonly measured: readonly Measurement[];
}

/** Blocks and steps of a message over these transports. */
export function shapeOf(
  algorithm: Algorithm,
  { members, byteLength, blockSize }: Pick<Comparison, 'members' | 'byteLength' | 'blockSize'>,
  transports: readonly string[],
): { blockBytes: number; blocks: number; steps: number } {
  const blockBytes = blockSize === 'auto' ? automaticBlockSize(byteLength, members, transports) : blockSize;
  const blocks = Math.ceil(byteLength / blockBytes);
  return { blockBytes, blocks, steps: createSchedule({ algorithm, nodes: members, blocks }).steps };
}

/** Sends messages one after another, and counts the bytes of each group. */
class Sender {
  readonly #sent: Map<Group, number>;

  constructor(private readonly comparison: Comparison) {
    this.#sent = new Map(comparison.sentBytes);
  }

  async warmUp(group: Group): Promise<void> {
    const { cluster, region } = this.comparison;
    const byteLength = Math.min(this.comparison.byteLength, WARM_UP_BYTES);
    await cluster.multicast(group, region, byteLength);
    this.#count(group, byteLength);
  }

  /** Seconds until the slowest receiver has the message. */
  async time(title: string, group: Group): Promise<number> {
    const { cluster, region, byteLength, view } = this.comparison;
    view.begin(title, group, byteLength, this.#sent.get(group) ?? 0);
    const { seconds } = await cluster.multicast(group, region, byteLength);
    this.#count(group, byteLength);
    view.end(title, seconds);
    return seconds;
  }

  #count(group: Group, byteLength: number): void {
    this.#sent.set(group, (this.#sent.get(group) ?? 0) + byteLength);
  }
}

/**
 * Sends the same message to one receiver and with each algorithm to all, in turn, round after round, so that other load
 * on the machine affects all of them equally. Returns the seconds of every round, by title.
 */
async function timeRounds(comparison: Comparison): Promise<Map<string, number[]>> {
  const contestants = new Map<string, Group>([['one copy', comparison.single], ...comparison.groups]);
  const sender = new Sender(comparison);
  for (const group of contestants.values()) await sender.warmUp(group);
  const times = new Map([...contestants.keys()].map((title) => [title, [] as number[]]));
  const begin = performance.now();
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    for (const [title, group] of contestants) times.get(title)!.push(await sender.time(title, group));
    const spent = (performance.now() - begin) / 1000;
    if (spent + spent / round > BUDGET_SECONDS) break;
  }
  return times;
}

/** Measures one copy, and all algorithms on the given groups. */
export async function compare(comparison: Comparison): Promise<ComparisonResult> {
  const { members, byteLength, groups, single } = comparison;
  const times = await timeRounds(comparison);
  const oneCopySeconds = median(times.get('one copy')!);
  const measured = [...groups].map(([algorithm, group]) => {
    const values = times.get(algorithm)!;
    const { blocks, steps } = shapeOf(algorithm, comparison, group.transports);
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
  const { steps: oneCopySteps } = shapeOf('chain', { ...comparison, members: 2 }, single.transports);
  return { oneCopySeconds, oneCopySteps, measured };
}
