import { Clock } from './clock.js';
import { bytesPerMicrosecond, type Cluster } from './cluster.js';
import { SimulatorError } from './errors.js';
import { Fabric, type SlowPair } from './fabric.js';
import type { SimulatedGroup } from './group.js';
import { type Delay, type GroupContext, GroupRun } from './group-run.js';
import { Host } from './host.js';
import { LiveTrace } from './live-trace.js';
import { Network } from './network.js';
import { ObjectQueue } from './object-queue.js';
import { type Executor, NicExecutor } from './offload.js';
import { type Preemption, type PreemptionRate, Preemptions } from './preemption.js';
import { Processors } from './processors.js';
import { Random } from './random.js';
import { reportOf, type SimulationReport } from './report.js';
import { SendQueue } from './send-queue.js';
import type { Windows } from './windows.js';

/** Everything that a run depends on, checked and complete. */
export interface Simulation {
  readonly cluster: Cluster;
  readonly nodes: number;
  readonly groups: readonly SimulatedGroup[];
  /** The group of each object, if the groups take turns; then `inFlight` objects are under way. */
  readonly order?: readonly number[] | undefined;
  readonly inFlight?: number | undefined;
  readonly windows: Windows;
  /** How long threads poll after work, in milliseconds: 0 for interrupts only, Infinity for polling only. */
  readonly windowMs: number;
  readonly offload: boolean;
  readonly relay: 'worker' | 'device';
  /** The rack of each node, if there are racks. */
  readonly racks: readonly number[] | undefined;
  readonly slowPairs: readonly SlowPair[];
  readonly preemptions: readonly Preemption[];
  readonly preemptionRate: PreemptionRate | undefined;
  readonly delays: readonly Delay[];
  /** Of all hosts together; `undefined` if each has its own. */
  readonly sharedProcessors: number | undefined;
  readonly seed: number;
  readonly traces: boolean;
  /** Whether the machines record what those of live groups do. */
  readonly records: boolean;
}

/** Rounds of large components: at most this part of the time of a block (see `Network`). */
const ROUND_OF_A_BLOCK = 0.01;

/** Runs the groups until no event is left. @throws SimulatorError ERR_RDMC_SIMULATION_STUCK */
export function run(simulation: Simulation): SimulationReport {
  const { cluster, nodes, groups, racks, slowPairs, order } = simulation;
  const clock = new Clock();
  const rate = bytesPerMicrosecond(cluster.gbitPerSecond);
  const least = Math.min(...groups.map((group) => Math.min(group.blockBytes, group.byteLength)));
  const network = new Network(clock, (ROUND_OF_A_BLOCK * least) / rate);
  const fabric = new Fabric(cluster, nodes, racks, slowPairs);
  const hosts = makeHosts(simulation, clock);
  const live = simulation.records ? new LiveTrace(clock) : undefined;
  const sendQueue = (from: number, to: number): SendQueue =>
    new SendQueue(clock, network, fabric.path(from, to), cluster.nic, fabric.queued(from, to));
  const context = { ...makeContext(simulation, clock, hosts), sendQueue, live };
  const runs = groups.map((group, index) => new GroupRun(context, group, index));
  for (const { members } of runs) for (const member of members) hosts[member.node]!.add(member);
  for (const groupRun of runs) {
    groupRun.open();
    if (order === undefined) groupRun.start();
  }
  if (order) new ObjectQueue(runs, order).start(simulation.inFlight ?? 1);
  clock.run(() => network.settle());
  for (const groupRun of runs) groupRun.checkConserved();
  if (!fabric.idle) throw new SimulatorError('ERR_RDMC_SIMULATION_STUCK', 'A link still carries bytes');
  return reportOf({ groups, traces: simulation.traces, live, clock, fabric, hosts, runs });
}

function makeHosts({ cluster, nodes, ...simulation }: Simulation, clock: Clock): Host[] {
  const { preemptions, preemptionRate, seed, sharedProcessors, windowMs } = simulation;
  const processors = sharedProcessors === undefined ? undefined : new Processors(clock, sharedProcessors);
  return Array.from({ length: nodes }, (_, node) => {
    const own = preemptions.filter((preemption) => preemption.node === node);
    // Each host has its own sequence of random numbers, so that it does not depend on the order of events elsewhere.
    const random = new Random(Math.imul(seed + 1, 0x9e37_79b1) ^ node);
    return new Host(clock, cluster.host, windowMs, new Preemptions(own, preemptionRate, random), processors);
  });
}

function makeContext(
  simulation: Simulation,
  clock: Clock,
  hosts: readonly Host[],
): Omit<GroupContext, 'sendQueue' | 'live'> {
  const { cluster, windows, offload, relay, traces, delays } = simulation;
  const nics: Executor = new NicExecutor(clock, cluster.nic.offload);
  return {
    clock,
    nic: cluster.nic,
    hostCosts: cluster.host,
    windows,
    offload,
    relay,
    traces,
    delays,
    executorOf: (node) => (offload ? nics : hosts[node]!),
  };
}
