import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { anySignal, within } from '@rdmc/common';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { TrainingError } from './errors.js';
import { Ledger } from './ledger.js';
import { Topic } from './messages.js';
import { joinNode, type TrainingNode } from './node.js';
import { type ProcessReport, processReport } from './process-report.js';
import { referenceRecords } from './reference.js';
import { type Place, replicasFor, type Settings, TRAINER } from './settings.js';
import { areEqual, type StepRecord } from './step-record.js';
import { Trainer, type Training, type TrainingEvents } from './trainer.js';
import { WorkerProcess } from './worker-process.js';

/** A whole job, whose checksums were compared. */
export interface RunResult extends Training {
  /** The settings of the job. */
  readonly settings: Settings;
  /** The trainer's device, and why that one. */
  readonly device: { readonly name: string; readonly reason: string };
  /** The replicated log of the steps. */
  readonly log: {
    readonly replicas: number;
    /** Members with the newest segment, at the beginning and at the end. */
    readonly backupsAtStart: readonly number[];
    readonly backupsAtEnd: readonly number[];
    /** Records that were recovered from the backups; each is equal to the computed one. */
    readonly recovered: number;
  };
  /** Reports of the remaining processes: the trainer's first. */
  readonly processes: readonly ProcessReport[];
}

/** The trainer's node, and the processes of the workers. */
interface Cluster {
  readonly directory: string;
  readonly workers: Map<number, WorkerProcess>;
  node: TrainingNode | undefined;
}

/**
 * Runs a job: this process is the trainer, and starts the workers. When it settles, all of them have ended and nothing is left behind.
 * @throws TrainingError, WorkerError; errors of the node, its groups, channels and logs
 */
export async function run(
  settings: Settings,
  events: TrainingEvents,
  signal: AbortSignal,
): Promise<RunResult> {
  const directory = await mkdtemp(join(tmpdir(), 'rdmc-training-'));
  const cluster: Cluster = { directory, workers: new Map(), node: undefined };
  const ended = new AbortController();
  const running = runIn(cluster, settings, events, anySignal(signal, ended.signal));
  try {
    return await within(running, { signal });
  } finally {
    ended.abort();
    await cluster.node?.close();
    await Promise.all([...cluster.workers.values()].map((worker) => worker.stop()));
    await rm(directory, { recursive: true, force: true });
  }
}

async function runIn(
  cluster: Cluster,
  settings: Settings,
  events: TrainingEvents,
  signal: AbortSignal,
): Promise<RunResult> {
  const { workers } = cluster;
  const server = await startWorkers(cluster, settings, signal);
  const each = [...workers];
  const failed = Promise.race(each.map(([, worker]) => worker.failed));
  const died = Promise.race(each.map(([id, worker]) => worker.died(id)));
  died.catch(() => {}); // later, the errors of the group and the channel report it
  const ready = prepare(cluster, settings, server, signal);
  const { node, ledger } = await Promise.race([ready, failed, died]);
  const backupsAtStart = ledger.backups;
  const trainer = await Trainer.create(node, ledger, settings, events);
  const kill = (worker: number): void => workers.get(worker)?.kill();
  const training = await Promise.race([trainer.train(kill, signal), failed]);
  const backupsAtEnd = ledger.backups;
  const recovered = await ledger.readBack();
  compare(recovered, training.records, settings.parameters);
  const processes = await finish(node, training);
  await ledger.close();
  const { device: name, reason } = node.device.choice;
  const log = {
    replicas: replicasFor(settings.workers),
    backupsAtStart,
    backupsAtEnd,
    recovered: recovered.length,
  };
  return { ...training, settings, device: { name, reason }, log, processes };
}

interface Ready {
  readonly node: TrainingNode;
  readonly ledger: Ledger;
}

/**
 * Starts the processes; returns the trainer's options to join them. Each worker listens on its port itself: a server that is
 * sent to a process accepts connections at once, before the process can answer them.
 */
async function startWorkers(
  { directory, workers }: Cluster,
  settings: Settings,
  signal: AbortSignal,
): Promise<{ readonly members: Place['members']; readonly server: Server }> {
  const reserved = await reserveLoopbackPorts(settings.workers + 1);
  const [own, ...others] = reserved.map(({ server }) => server);
  for (const server of others) server.close();
  if (signal.aborted) own!.close();
  signal.throwIfAborted();
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  for (const { id } of members) {
    if (id !== TRAINER) workers.set(id, new WorkerProcess({ id, members, settings, directory }));
  }
  return { members, server: own! };
}

/** Joins the workers, and creates the log when all of them serve their backups. */
async function prepare(
  cluster: Cluster,
  settings: Settings,
  { members, server }: { readonly members: Place['members']; readonly server: Server },
  signal: AbortSignal,
): Promise<Ready> {
  const node = await joinNode({ id: TRAINER, members, server, device: settings.device, signal });
  cluster.node = node;
  if (signal.aborted) await node.close(); // the run may have ended at the same moment, and did not see it
  signal.throwIfAborted();
  const ledger = await Ledger.open(node, cluster.directory);
  const ready = new Set<number>();
  const allReady = new Promise<void>((resolve) => {
    node.mesh.onMessage(Topic.READY, (worker) => {
      ready.add(worker);
      if (ready.size === settings.workers) resolve();
    });
  });
  node.mesh.broadcast(Topic.CLUSTER, ledger.clusterId);
  await allReady;
  await ledger.begin([...cluster.workers.keys()], replicasFor(settings.workers));
  return { node, ledger };
}

/** @throws TrainingError ERR_RDMC_TRAINING_MISMATCH */
function compare(
  recovered: readonly StepRecord[],
  computed: readonly StepRecord[],
  parameters: number,
): void {
  const mismatch = (what: string): TrainingError => new TrainingError('ERR_RDMC_TRAINING_MISMATCH', what, 3);
  if (!areEqual(recovered, computed)) throw mismatch('the log differs from the results of the trainer');
  if (!areEqual(computed, referenceRecords(computed, parameters)))
    throw mismatch('the results of the trainer differ from those of a single process');
}

/** Asks every process for its report, and lets the workers end. */
async function finish(node: TrainingNode, { losses }: Training): Promise<ProcessReport[]> {
  const lost = new Set(losses.map(({ member }) => member));
  const left = [...node.mesh.peers.keys()].filter((id) => !lost.has(id));
  const reports = await Promise.all(left.map((id) => node.mesh.request(id, Topic.REPORT, null)));
  node.mesh.broadcast(Topic.FINISH, null);
  return [processReport(node.id, node.counters()), ...(reports as ProcessReport[])];
}
