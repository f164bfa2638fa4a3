import { availableParallelism } from 'node:os';
import type { Algorithm, Group, MemoryRegion } from '@rdmc/group';
import { chooseDevice, type Device } from '@rdmc/verbs';
import { LocalCluster } from '../cluster/local-cluster.js';
import { timeOneCopy } from '../cluster/one-copy.js';
import { HashPool } from '../hash/pool.js';
import type { Terminal } from '../ui/terminal.js';
import { wrap } from '../ui/wrap.js';
import { checkCapacity } from './capacity.js';
import { compare, shapeOf } from './compare.js';
import { ComparisonBar } from './comparison-bar.js';
import { deliver } from './deliver.js';
import type { DemoEvent, DemoEventOf, Measurement } from './events.js';
import { explain } from './explain.js';
import { comparedAlgorithms, type DemoOptions, deliveryAlgorithm } from './options.js';
import { createProgressView } from './progress-view.js';
import { describeBeginning, describeComparison, describeJoin } from './report.js';
import { findSource, readInto, resized, type SourceFile } from './source-file.js';
import { TemporaryFolder } from './temporary-folder.js';

/** The resources of a demonstration; `runDemo` closes them. */
interface DemoContext {
  readonly options: DemoOptions;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly folder: TemporaryFolder;
  readonly pool: HashPool;
  readonly source: SourceFile;
  readonly cluster: LocalCluster;
}

type Emit = (event: DemoEvent) => void;

/** The transport, and why it was chosen. */
function transportOf(
  { transport }: DemoOptions,
  device: Device,
): Pick<DemoEventOf<'joined'>, 'transport' | 'transportReason'> {
  if (device.kind !== 'soft') {
    const transport = device.transport === 'infiniband' ? 'infiniband' : 'roce';
    return { transport, transportReason: `the network of ${device.name}` };
  }
  if (transport !== 'auto') return { transport, transportReason: `asked for by --transport ${transport}` };
  return { transport: 'shm', transportReason: 'all members are processes of one host' };
}

function joinedEvent({ options, source, cluster }: DemoContext): DemoEventOf<'joined'> {
  const algorithm = deliveryAlgorithm(options);
  const { members, blockSize } = options;
  return {
    event: 'joined',
    device: cluster.node.device.name,
    deviceReason: cluster.node.device.choice.reason,
    ...transportOf(options, cluster.node.device),
    algorithm,
    ...shapeOf(algorithm, { members, blockSize, byteLength: source.byteLength }),
  };
}

async function openGroups({ cluster, options }: DemoContext): Promise<Map<Algorithm, Group>> {
  const groups = new Map<Algorithm, Group>();
  for (const [id, algorithm] of comparedAlgorithms(options).entries()) {
    const plan = { id, algorithm, blockBytes: options.blockSize, burst: 1 };
    const progress = algorithm === deliveryAlgorithm(options);
    groups.set(algorithm, await cluster.open({ ...plan, progress }));
  }
  return groups;
}

async function measure(
  context: DemoContext,
  groups: ReadonlyMap<Algorithm, Group>,
  region: MemoryRegion,
  emit: Emit,
): Promise<Measurement[]> {
  const { cluster, options, source, terminal } = context;
  const { members, blockSize } = options;
  const { byteLength } = source;
  const { blockBytes } = shapeOf(deliveryAlgorithm(options), { members, blockSize, byteLength });
  const target = await cluster.guard(cluster.node.allocate(byteLength));
  const oneCopySeconds = timeOneCopy(cluster.node.device, region, target, byteLength, blockBytes);
  await target.close();
  emit({ event: 'copied', oneCopySeconds });
  const bar = new ComparisonBar(terminal, options.json);
  const onProgress = bar.show.bind(bar);
  const comparison = { cluster, groups, region, byteLength, members, blockSize, oneCopySeconds, onProgress };
  const measured = await compare(comparison).finally(() => bar.stop());
  for (const result of measured) emit({ event: 'measured', ...result });
  if (!options.json) terminal.out('', ...describeComparison(measured, oneCopySeconds, terminal.palette));
  return measured;
}

async function deliverOnce(
  context: DemoContext,
  groups: ReadonlyMap<Algorithm, Group>,
  region: MemoryRegion,
  sha256: Promise<string>,
  emit: Emit,
): Promise<void> {
  const { cluster, options, source, folder, pool, signal, terminal } = context;
  const view = createProgressView(terminal, options.members, source.byteLength, options.json);
  try {
    for (const { id, pid } of cluster.receivers) view.started(id, pid ?? 0);
    const group = groups.get(deliveryAlgorithm(options))!;
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

/** Runs the demonstration from joining to the summary. @throws the first failure */
async function runSteps(context: DemoContext, emit: Emit, begin: number): Promise<void> {
  const { options, terminal, cluster, source, pool, signal, folder } = context;
  for (const { id, pid } of cluster.receivers) if (pid) emit({ event: 'started', member: id, pid });
  const sha256 = pool.sha256(source.path, signal);
  sha256.catch(() => {});
  await cluster.join();
  const joined = joinedEvent(context);
  emit(joined);
  if (!options.json) terminal.out(...describeJoin(joined), '');
  const region = await cluster.guard(cluster.node.allocate(source.byteLength));
  const [groups] = await cluster.guard(Promise.all([openGroups(context), readInto(source, region)]));
  await deliverOnce(context, groups, region, sha256, emit);
  const measured = await measure(context, groups, region, emit);
  await cluster.leave([...groups.values()]);
  const { members } = options;
  const explanation = explain(measured, {
    members,
    processors: availableParallelism(),
    transport: joined.transport,
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
  chooseDevice({ device: options.device, transport: options.transport });
  const original = await findSource(options.file);
  const byteLength = options.size ?? original.byteLength;
  const { members } = options;
  const folder = new TemporaryFolder('rdmc-demo-');
  const pool = new HashPool();
  let cluster: LocalCluster | undefined;
  const onExit = (): void => cluster?.killAll();
  process.once('exit', onExit);
  try {
    checkCapacity({ members, byteLength }, options.size === undefined ? 0 : byteLength);
    const begun: DemoEvent = {
      event: 'begun',
      file: original.path,
      byteLength,
      members,
      folder: folder.path,
    };
    emit(begun);
    if (!options.json) terminal.out(...describeBeginning(begun, terminal.palette));
    const { device, transport } = options;
    cluster = LocalCluster.start({
      members,
      device,
      transport,
      folder: options.keep ? null : folder.path,
      signal,
    });
    const source =
      options.size === undefined
        ? original
        : await cluster.guard(resized(original, options.size, folder.path));
    await runSteps({ options, terminal, signal, folder, pool, source, cluster }, emit, begin);
    if (options.keep) folder.keep();
  } finally {
    await cluster?.stop();
    await pool.close();
    await folder.remove();
    process.off('exit', onExit);
  }
}
