import { availableParallelism } from 'node:os';
import type { Algorithm, Group, MemoryRegion } from '@rdmc/group';
import type { Device } from '@rdmc/verbs';
import { LocalCluster } from '../cluster/local-cluster.js';
import { HashPool } from '../hash/pool.js';
import { checkOutput, writeTogether } from '../trace/output.js';
import type { Terminal } from '../ui/terminal.js';
import { wrap } from '../ui/wrap.js';
import { checkCapacity } from './capacity.js';
import { type ComparisonResult, compare, shapeOf } from './compare.js';
import { ComparisonView } from './comparison-view.js';
import { deliver } from './deliver.js';
import type { DemoEvent, DemoEventOf } from './events.js';
import { explain } from './explain.js';
import { comparedAlgorithms, type DemoOptions, deliveryAlgorithm } from './options.js';
import { createProgressView } from './progress-view.js';
import { describeBeginning, describeComparison, describeJoin } from './report.js';
import { chooseRoute, type DemoRoute } from './route.js';
import { expectUnchanged, findSource, readInto, resized, type SourceFile } from './source-file.js';
import { TemporaryFolder } from './temporary-folder.js';

/** The resources of a demonstration; `runDemo` closes them. */
interface DemoContext {
  readonly options: DemoOptions;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly folder: TemporaryFolder;
  readonly pool: HashPool;
  readonly route: DemoRoute;
  readonly source: SourceFile;
  readonly cluster: LocalCluster;
}

/** The groups of the comparison. */
interface DemoGroups {
  /** The root and one receiver: the time of one copy. */
  readonly single: Group;
  readonly all: ReadonlyMap<Algorithm, Group>;
}

type Emit = (event: DemoEvent) => void;

/** Of the node binary, which is sent without --file: several algorithms take seconds, and not minutes. */
const DEFAULT_BYTES = 32 << 20;

/** The transport, and why it was chosen. */
function transportOf(
  { transport, reason, linkRate }: DemoRoute,
  device: Device,
): Pick<DemoEventOf<'joined'>, 'transport' | 'transportReason' | 'linkBitsPerSecond'> {
  if (device.kind !== 'soft') {
    const transport = device.transport === 'infiniband' ? 'infiniband' : 'roce';
    return { transport, transportReason: `the network of ${device.name}`, linkBitsPerSecond: null };
  }
  const name = transport === 'shm' ? 'shm' : 'tcp';
  return { transport: name, transportReason: reason ?? '', linkBitsPerSecond: linkRate ?? null };
}

function joinedEvent({ options, source, cluster, route }: DemoContext): DemoEventOf<'joined'> {
  const algorithm = deliveryAlgorithm(options);
  const { members, blockSize } = options;
  const network = transportOf(route, cluster.node.device);
  return {
    event: 'joined',
    device: cluster.node.device.name,
    deviceReason: cluster.node.device.choice.reason,
    ...network,
    algorithm,
    ...shapeOf(algorithm, { members, blockSize, byteLength: source.byteLength }, [network.transport]),
  };
}

async function openGroups({ cluster, options, terminal }: DemoContext): Promise<DemoGroups> {
  const all = new Map<Algorithm, Group>();
  const algorithms = comparedAlgorithms(options);
  // Receivers report progress where somebody sees it.
  const plan = { blockBytes: options.blockSize, burst: 1, progress: terminal.interactive && !options.json };
  for (const [id, algorithm] of algorithms.entries())
    all.set(algorithm, await cluster.open({ ...plan, id, algorithm }));
  const single = await cluster.open({ ...plan, id: algorithms.length, algorithm: 'chain', receivers: 1 });
  return { single, all };
}

async function measure(
  context: DemoContext,
  groups: DemoGroups,
  region: MemoryRegion,
  emit: Emit,
): Promise<ComparisonResult> {
  const { cluster, options, source, terminal, route } = context;
  const { members, blockSize, json } = options;
  const { byteLength } = source;
  const { single, all } = groups;
  if (!json) terminal.out('', `${terminal.palette.bold('The same file again')}, with each algorithm`, '');
  const view = new ComparisonView(cluster, json ? undefined : terminal);
  const sentBytes = new Map([[all.get(deliveryAlgorithm(options))!, byteLength]]);
  const message = { region, byteLength, sentBytes };
  const result = await compare({
    cluster,
    single,
    groups: all,
    ...message,
    members,
    blockSize,
    view,
  }).finally(() => view.stop());
  emit({ event: 'copied', oneCopySeconds: result.oneCopySeconds });
  for (const each of result.measured) emit({ event: 'measured', ...each });
  const ownLinks = route.linkRate !== undefined;
  if (!json) terminal.out('', ...describeComparison(result, byteLength, ownLinks, terminal));
  return result;
}

async function deliverOnce(
  context: DemoContext,
  groups: DemoGroups,
  region: MemoryRegion,
  sha256: Promise<string>,
  emit: Emit,
): Promise<void> {
  const { cluster, options, source, folder, pool, signal, terminal } = context;
  const ids = cluster.receivers.map(({ id }) => id);
  const view = createProgressView(terminal, ids, source.byteLength, options.json);
  try {
    for (const { id, pid } of cluster.receivers) view.started(id, pid ?? 0);
    const group = groups.all.get(deliveryAlgorithm(options))!;
    const { byteLength } = source;
    await deliver({
      cluster,
      group,
      region,
      byteLength,
      sha256,
      folder: folder.path,
      pool,
      view,
      signal,
      emit,
    });
  } finally {
    view.stop();
  }
}

function bytesToSend({ size, file }: DemoOptions, original: SourceFile): number {
  return size ?? (file === undefined ? Math.min(DEFAULT_BYTES, original.byteLength) : original.byteLength);
}

/** @throws CliError where the file has changed meanwhile */
async function hashOf(source: SourceFile, pool: HashPool, signal: AbortSignal): Promise<string> {
  const sha256 = await pool.sha256(source.path, signal);
  await expectUnchanged(source);
  return sha256;
}

/** Runs the demonstration from joining to the summary. @throws the first failure */
async function runSteps(context: DemoContext, emit: Emit, begin: number): Promise<void> {
  const { options, terminal, cluster, source, pool, signal, folder, route } = context;
  for (const { id, pid } of cluster.receivers) if (pid) emit({ event: 'started', member: id, pid });
  const sha256 = hashOf(source, pool, signal);
  sha256.catch(() => {});
  await cluster.join();
  const joined = joinedEvent(context);
  emit(joined);
  if (!options.json) terminal.out(...describeJoin(joined, terminal), '');
  const region = await cluster.guard(cluster.node.allocate(source.byteLength));
  const [groups] = await cluster.guard(Promise.all([openGroups(context), readInto(source, region)]));
  await deliverOnce(context, groups, region, sha256, emit);
  const { measured } = await measure(context, groups, region, emit);
  await cluster.leave([groups.single, ...groups.all.values()]);
  const { members, trace } = options;
  if (trace !== undefined) await writeTogether(cluster.traces, trace, terminal);
  const explanation = explain(measured, {
    members,
    processors: availableParallelism(),
    transport: joined.transport,
    ownLinks: route.linkRate !== undefined,
  });
  const seconds = (performance.now() - begin) / 1000;
  const keptFolder = options.keep ? folder.path : null;
  emit({ event: 'finished', ok: true, sha256: await sha256, seconds, explanation, keptFolder });
  if (options.json) return;
  terminal.out('', ...wrap(explanation, Math.min(terminal.columns, 100)), '');
  if (keptFolder) terminal.out(`The received files are in ${keptFolder}`);
  const { green } = terminal.palette;
  terminal.out(green(`All ${members - 1} files have the sender's SHA-256. Done in ${seconds.toFixed(1)} s.`));
}

/**
 * The demonstration: sends a file to n − 1 processes, verifies it, and sends it again with each algorithm.
 * @throws CliError that names the failed member; processes, files and shared memory are removed in any case
 */
export async function runDemo(options: DemoOptions, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const begin = performance.now();
  const emit: Emit = (event) => {
    if (options.json) terminal.line(event);
  };
  const route = chooseRoute(options);
  const { trace } = options;
  if (trace !== undefined) checkOutput(trace);
  const traces = trace === undefined ? undefined : new TemporaryFolder('rdmc-trace-');
  const original = await findSource(options.file ?? process.execPath);
  const byteLength = bytesToSend(options, original);
  const { members } = options;
  const folder = new TemporaryFolder('rdmc-demo-');
  const pool = new HashPool();
  let cluster: LocalCluster | undefined;
  const onExit = (): void => cluster?.killAll();
  process.once('exit', onExit);
  try {
    const isWhole = byteLength === original.byteLength;
    checkCapacity({ members, byteLength }, isWhole ? 0 : byteLength);
    const begun: DemoEvent = {
      event: 'begun',
      file: original.path,
      byteLength,
      members,
      folder: folder.path,
    };
    emit(begun);
    if (!options.json) terminal.out(...describeBeginning(begun, original, terminal));
    const { device, transport, linkRate } = route;
    cluster = LocalCluster.start({
      members,
      device,
      transport,
      linkRate,
      folders: [options.keep ? [] : folder.path, traces?.path ?? []].flat(),
      traces: traces?.path,
      signal,
    });
    const source = isWhole ? original : await cluster.guard(resized(original, byteLength, folder.path));
    await runSteps({ options, route, terminal, signal, folder, pool, source, cluster }, emit, begin);
    if (options.keep) folder.keep();
  } finally {
    await cluster?.stop();
    await pool.close();
    await folder.remove();
    await traces?.remove();
    process.off('exit', onExit);
  }
}
