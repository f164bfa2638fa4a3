import { type Algorithm, automaticBlockSize, type Group } from '@rdmc/group';
import { createSchedule } from '@rdmc/schedule';
import { LocalCluster, type Reception } from '../cluster/local-cluster.js';
import { timeOneCopy } from '../cluster/one-copy.js';
import { median } from '../statistics.js';
import type { MulticastDocument } from './documents.js';
import { type BenchRoute, routeOf, type Transport } from './route.js';

export interface MulticastPlan {
  readonly members: number;
  readonly sizes: readonly number[];
  readonly algorithms: readonly Algorithm[];
  readonly blockSize: 'auto' | number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly rounds: number;
  /** Messages queued at once. */
  readonly burst: number;
  /** A folder for the traces of all members. */
  readonly traces?: string | undefined;
}

type Result = MulticastDocument['results'][number];

const SMALLEST_BUFFER = 4096;

async function openGroups(cluster: LocalCluster, plan: MulticastPlan): Promise<Map<Algorithm, Group>> {
  const groups = new Map<Algorithm, Group>();
  for (const [id, algorithm] of plan.algorithms.entries()) {
    const { blockSize: blockBytes, burst } = plan;
    groups.set(algorithm, await cluster.open({ id, algorithm, blockBytes, burst, progress: false }));
  }
  return groups;
}

/** The block size of the groups: the automatic one depends on the transport. */
export function blockBytesOf(
  { members, blockSize }: Pick<MulticastPlan, 'members' | 'blockSize'>,
  transport: Transport,
  byteLength: number,
): number {
  if (blockSize !== 'auto') return blockSize;
  return automaticBlockSize(byteLength, members, [transport]);
}

/** The members are processes of one host, so all their connections are alike. */
function routeAmong({ node }: LocalCluster, groups: ReadonlyMap<Algorithm, Group>): BenchRoute {
  return routeOf(node.device, [...groups.values()][0]!.transports[0]!);
}

function resultOf(
  plan: MulticastPlan,
  algorithm: Algorithm,
  byteLength: number,
  { blockBytes, oneCopySeconds }: Pick<Result, 'blockBytes' | 'oneCopySeconds'>,
  receptions: readonly Reception[],
): Result {
  const { members, burst } = plan;
  const blocks = Math.max(1, Math.ceil(byteLength / blockBytes));
  const times = receptions.map(({ seconds }) => seconds);
  const seconds = median(times);
  return {
    members,
    byteLength,
    algorithm,
    blockBytes,
    blocks,
    steps: createSchedule({ algorithm, nodes: members, blocks }).steps,
    burst,
    rounds: times.length,
    seconds,
    fastestSeconds: Math.min(...times),
    slowestSeconds: Math.max(...times),
    firstReceiverSeconds: median(receptions.map(({ firstSeconds }) => firstSeconds)),
    skewSeconds: median(receptions.map(({ seconds, firstSeconds }) => seconds - firstSeconds)),
    mostOftenLast: mostOften(receptions.map(({ last }) => last)),
    messagesPerSecond: burst / seconds,
    deliveredBytesPerSecond: ((members - 1) * byteLength * burst) / seconds,
    oneCopySeconds,
    timesOneCopy: seconds / (oneCopySeconds * burst),
  };
}

/** Measures all algorithms for one size, in turn, so that other load on the machine affects all of them equally. */
async function measureSize(
  cluster: LocalCluster,
  groups: ReadonlyMap<Algorithm, Group>,
  plan: MulticastPlan,
  byteLength: number,
  signal: AbortSignal,
): Promise<Result[]> {
  const { node } = cluster;
  const region = await cluster.guard(node.allocate(Math.max(byteLength, SMALLEST_BUFFER)));
  const target = await cluster.guard(node.allocate(Math.max(byteLength, SMALLEST_BUFFER)));
  const { transport } = routeAmong(cluster, groups);
  const blockBytes = blockBytesOf(plan, transport, byteLength);
  const copy = { from: region, to: target, byteLength: Math.max(byteLength, 1), blockBytes };
  const oneCopySeconds = await timeOneCopy(node.device, copy, signal);
  await target.close();
  const times = new Map<Algorithm, Reception[]>(plan.algorithms.map((algorithm) => [algorithm, []]));
  // The first round is warm-up.
  for (let round = 0; round <= plan.rounds; round += 1) {
    for (const [algorithm, group] of groups) {
      const reception = await cluster.multicast(group, region, byteLength, plan.burst);
      if (round > 0) times.get(algorithm)!.push(reception);
    }
  }
  await region.close();
  const facts = { blockBytes, oneCopySeconds };
  return plan.algorithms.map((name) => resultOf(plan, name, byteLength, facts, times.get(name)!));
}

function mostOften(members: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const member of members) counts.set(member, (counts.get(member) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]![0];
}

export interface MulticastMeasured {
  readonly route: BenchRoute;
  /** The files, if there are any. */
  readonly traces: readonly string[];
}

/** Measures every size with one number of members. */
export async function measureMulticast(
  plan: MulticastPlan,
  signal: AbortSignal,
  onResult: (result: Result) => void,
): Promise<MulticastMeasured> {
  const { members, device, transport, traces } = plan;
  const folders = traces === undefined ? [] : [traces];
  const cluster = LocalCluster.start({ members, device, transport, folders, traces, signal });
  const onExit = (): void => cluster.killAll();
  process.once('exit', onExit);
  try {
    await cluster.join();
    const groups = await openGroups(cluster, plan);
    for (const byteLength of plan.sizes) {
      for (const result of await measureSize(cluster, groups, plan, byteLength, signal)) onResult(result);
    }
    const route = routeAmong(cluster, groups);
    await cluster.leave([...groups.values()]);
    return { route, traces: cluster.traces };
  } finally {
    await cluster.stop();
    process.off('exit', onExit);
  }
}
