import { optionChecks } from '@rdmc/common/checks';
import { DEFAULT_WINDOW_MS } from '@rdmc/dataplane/poll';
import { MAX_WINDOW } from '@rdmc/group/machine';
import { type Algorithm, createSchedule } from '@rdmc/schedule';
import type { Cluster } from './cluster.js';
import { SimulatorError } from './errors.js';
import type { SlowPair } from './fabric.js';
import type { SimulatedGroup } from './group.js';
import { scheduleOf } from './group.js';
import type { Delay } from './group-run.js';
import { loadOf, type SimulatedObject } from './objects.js';
import type { Preemption, PreemptionRate } from './preemption.js';
import { presetNamed } from './presets.js';
import { Random } from './random.js';
import type { Simulation } from './simulation.js';
import { type Windows, type WindowsName, windowsByName } from './windows.js';

/** The options of {@link simulate}. Times are microseconds, unless the name has another unit. */
export interface SimulateOptions {
  /** A preset's name, or the hardware itself. */
  readonly cluster: string | Cluster;
  /** Members, the root included: 2 to 65,536. */
  readonly nodes: number;
  /** The schedule of each group. Default 'binomial-pipeline'. */
  readonly algorithm?: Algorithm | undefined;
  /** Size of each message: 0 to 2^50. */
  readonly byteLength: number;
  /** Default 1 MiB, as in the RDMC paper. */
  readonly blockBytes?: number | undefined;
  /** Messages of each root: 1 to 1,000,000. Default 1. */
  readonly messages?: number | undefined;
  /** Messages of a root that are under way at once. Default 1: the next one starts when all members have the last. */
  readonly inFlight?: number | undefined;
  /** Groups with the same members and another root each: rank 0 of group g is node g. Default 1. */
  readonly senders?: number | undefined;
  /** The rack of each node. Default: those of the cluster. */
  readonly racks?: readonly number[] | undefined;
  /** How far members work ahead; each window is 1 to 64. Default 'shipped'. */
  readonly windows?: WindowsName | Windows | undefined;
  /** How long threads poll after work, in milliseconds: 0 to sleep at once, Infinity to poll only. Default 50. */
  readonly windowMs?: number | undefined;
  /** Let the NICs run the protocol. */
  readonly offload?: boolean | undefined;
  /** The threads relay blocks, or their NICs, as with this option of `createGroup`. Default 'worker'. */
  readonly relay?: 'worker' | 'device' | undefined;
  /** Links between two nodes that are slower than the ports. Default: none. */
  readonly slowLinks?: readonly SlowPair[] | undefined;
  /** Preemptions at given times. Default: none. */
  readonly preemptions?: readonly Preemption[] | undefined;
  /** Preemptions at random times. Default: none. */
  readonly preemptionRate?: PreemptionRate | undefined;
  /** Time added to single sends. Default: none. */
  readonly delays?: readonly Delay[] | undefined;
  /**
   * Processors that the threads of all hosts share, as members on one machine do: 1 to 65,536. Default: each host has its own. Their
   * work depends on the cluster's costs, so set those to what was measured: such a prediction is calibrated.
   */
  readonly sharedProcessors?: number | undefined;
  /** Of all random numbers: 0 to 2^32 − 1. Default 1. */
  readonly seed?: number | undefined;
  /** Whether the report has a trace, which needs memory for each step. Default false. */
  readonly trace?: boolean | undefined;
  /** Whether the report has the records that live groups write, for `@rdmc/dataplane/trace`. Default false. */
  readonly records?: boolean | undefined;
  /** Default: what this process may use. A simulation that needs more is refused. */
  readonly memoryLimitBytes?: number | undefined;
}

/** Those that do not say what is sent. */
type HardwareOptions = Omit<SimulateOptions, 'byteLength' | 'messages' | 'senders' | 'trace' | 'records'>;

/** The options of {@link simulateObjects}: `inFlight` counts the objects of all groups together. */
export interface SimulateObjectsOptions extends HardwareOptions {
  /** What is sent, in this order. */
  readonly objects: readonly SimulatedObject[];
}

const KNOWN: readonly (keyof SimulateOptions)[] = [
  'cluster',
  'nodes',
  'algorithm',
  'byteLength',
  'blockBytes',
  'messages',
  'inFlight',
  'senders',
  'racks',
  'windows',
  'windowMs',
  'offload',
  'relay',
  'slowLinks',
  'preemptions',
  'preemptionRate',
  'delays',
  'sharedProcessors',
  'seed',
  'trace',
  'records',
  'memoryLimitBytes',
];
const OF_ONE_LOAD: readonly string[] = ['byteLength', 'messages', 'senders', 'trace', 'records'];
const KNOWN_FOR_OBJECTS = ['objects', ...KNOWN.filter((name) => !OF_ONE_LOAD.includes(name))];
const MAX_NODES = 65_536;
const MAX_MESSAGES = 1_000_000;
const MAX_BYTES = 2 ** 50;
const MAX_BLOCK_BYTES = 2 ** 30;
/** Messages that a receiver works on at once are at most four; more in flight wait in the root's worker. */
const MAX_IN_FLIGHT = 8;
const DEFAULT_BLOCK_BYTES = 2 ** 20;

const WHERE = 'simulate';
const { onlyKnownOptions, integerOption, booleanOption } = optionChecks(
  (code, message) => new SimulatorError(code, message),
);

/** @throws SimulatorError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_PRESET; ScheduleError */
export function checkOptions(options: SimulateOptions): Simulation {
  onlyKnownOptions(WHERE, options, KNOWN);
  const hardware = checkHardware(options);
  const traces = booleanOption(WHERE, 'trace', options.trace ?? false);
  const records = booleanOption(WHERE, 'records', options.records ?? false);
  return { ...hardware, groups: groupsOf(options, hardware), traces, records };
}

/** The same for objects with members of their own. */
export function checkObjectOptions(options: SimulateObjectsOptions): Simulation {
  onlyKnownOptions(WHERE, options, KNOWN_FOR_OBJECTS);
  const hardware = checkHardware(options);
  const { objects } = options;
  if (!Array.isArray(objects) || objects.length === 0)
    throw invalid('objects must be an array with an object');
  for (const [index, object] of objects.entries()) checkObject(object, index, hardware.nodes);
  const { algorithm, blockBytes, inFlight } = checkShape(options);
  const load = loadOf(objects, { algorithm, blockBytes, racks: hardware.racks });
  for (const group of load.groups) createSchedule(scheduleOf(group));
  return { ...hardware, ...load, inFlight, traces: false, records: false };
}

type Hardware = Omit<Simulation, 'groups' | 'traces' | 'records'>;

function checkHardware(options: HardwareOptions): Hardware {
  const cluster = typeof options.cluster === 'string' ? presetNamed(options.cluster) : options.cluster;
  if (typeof cluster !== 'object' || cluster === null)
    throw invalid('cluster must be a preset or a description');
  checkBucket(cluster.bucketBytes ?? 0);
  const nodes = integerOption(WHERE, 'nodes', options.nodes, 2, MAX_NODES);
  const seed = integerOption(WHERE, 'seed', options.seed ?? 1, 0, 2 ** 32 - 1);
  const racks = options.racks ?? racksOf(cluster, nodes, seed);
  if (racks !== undefined) checkRacks(racks, nodes);
  return {
    cluster,
    nodes,
    racks,
    windows: windowsOf(options.windows ?? 'shipped'),
    windowMs: positive('windowMs', options.windowMs ?? DEFAULT_WINDOW_MS),
    ...executionOf(options),
    slowPairs: (options.slowLinks ?? []).map((link) => checkSlowLink(link, nodes)),
    preemptions: (options.preemptions ?? []).map((preemption) => checkPreemption(preemption, nodes)),
    preemptionRate: options.preemptionRate && checkRate(options.preemptionRate),
    delays: options.delays ?? [],
    sharedProcessors: processorsOf(options),
    seed,
  };
}

function executionOf({
  offload = false,
  relay = 'worker',
}: HardwareOptions): Pick<Hardware, 'offload' | 'relay'> {
  if (relay !== 'worker' && relay !== 'device')
    throw invalid(`relay must be worker or device, not '${String(relay)}'`);
  if (booleanOption(WHERE, 'offload', offload) && relay === 'device')
    throw invalid(
      "relay 'device' is for protocols that threads run: leave out offload, with which the NICs run everything",
    );
  return { offload, relay };
}

function processorsOf({ sharedProcessors: count }: HardwareOptions): number | undefined {
  return count === undefined ? undefined : integerOption(WHERE, 'sharedProcessors', count, 1, MAX_NODES);
}

function checkShape(options: HardwareOptions): Pick<SimulatedGroup, 'algorithm' | 'blockBytes' | 'inFlight'> {
  const blockBytes = options.blockBytes ?? DEFAULT_BLOCK_BYTES;
  return {
    algorithm: options.algorithm ?? 'binomial-pipeline',
    blockBytes: integerOption(WHERE, 'blockBytes', blockBytes, 1, MAX_BLOCK_BYTES),
    inFlight: integerOption(WHERE, 'inFlight', options.inFlight ?? 1, 1, MAX_IN_FLIGHT),
  };
}

function checkObject({ members, byteLength }: SimulatedObject, index: number, nodes: number): void {
  integerOption(WHERE, `objects[${index}].byteLength`, byteLength, 0, MAX_BYTES);
  const isList = Array.isArray(members) && members.length >= 2 && new Set(members).size === members.length;
  if (!isList) throw invalid(`objects[${index}].members must be at least two nodes, each once`);
  for (const node of members) integerOption(WHERE, `objects[${index}].members`, node, 0, nodes - 1);
}

function groupsOf(options: SimulateOptions, { nodes, racks }: Hardware): SimulatedGroup[] {
  const count = integerOption(WHERE, 'senders', options.senders ?? 1, 1, nodes);
  const shape = {
    ...checkShape(options),
    byteLength: integerOption(WHERE, 'byteLength', options.byteLength, 0, MAX_BYTES),
    messages: integerOption(WHERE, 'messages', options.messages ?? 1, 1, MAX_MESSAGES),
  };
  const groups = Array.from({ length: count }, (_, root) => {
    const members = Array.from({ length: nodes }, (_, rank) => (root + rank) % nodes);
    return { ...shape, members, racks: racks && members.map((node) => racks[node]!) };
  });
  // Throws the schedule's own errors for an unknown algorithm, missing racks, or too many blocks.
  createSchedule(scheduleOf(groups[0]!));
  return groups;
}

function windowsOf(windows: WindowsName | Windows): Windows {
  const named = typeof windows === 'string' ? windowsByName[windows] : windows;
  if (named === undefined) {
    const names = Object.keys(windowsByName).join(', ');
    throw invalid(`windows must be ${names}, or { receive, send, ready }, not '${String(windows)}'`);
  }
  const { receive, send, ready, automatic } = named as Windows;
  integerOption(WHERE, 'windows.receive', receive, 1, MAX_WINDOW);
  integerOption(WHERE, 'windows.send', send, 1, MAX_WINDOW);
  if (ready !== undefined) integerOption(WHERE, 'windows.ready', ready, 1, MAX_WINDOW);
  return { receive, send, ready, automatic };
}

/** Members in racks at random: a batch system does not place neighbours of a schedule together. */
function racksOf({ rackSize }: Cluster, nodes: number, seed: number): number[] | undefined {
  if (rackSize === undefined || nodes <= 2) return undefined;
  const count = Math.max(2, Math.ceil(nodes / rackSize));
  const random = new Random(seed);
  const racks = Array.from({ length: nodes }, (_, node) => node % count);
  for (let last = nodes - 1; last > 0; last -= 1) {
    const other = Math.floor(random.fraction() * (last + 1));
    [racks[last], racks[other]] = [racks[other]!, racks[last]!];
  }
  return racks;
}

function checkBucket(bytes: number): void {
  if (typeof bytes === 'number' && bytes >= 0 && bytes <= MAX_BYTES) return;
  throw invalid(`cluster.bucketBytes must be 0 to 2^50, not ${String(bytes)}`);
}

function checkRacks(racks: readonly number[], nodes: number): void {
  if (Array.isArray(racks) && racks.length === nodes && racks.every(Number.isInteger)) return;
  throw invalid(`racks must be an array of ${nodes} whole numbers, the rack of each node`);
}

function checkSlowLink(link: SlowPair, nodes: number): SlowPair {
  const { a, b, ratio } = link;
  integerOption(WHERE, 'slowLinks.a', a, 0, nodes - 1);
  integerOption(WHERE, 'slowLinks.b', b, 0, nodes - 1);
  if (a !== b && ratio > 0 && ratio <= 1) return link;
  throw invalid('a slow link needs two nodes and a ratio above 0 and at most 1');
}

function checkPreemption(preemption: Preemption, nodes: number): Preemption {
  integerOption(WHERE, 'preemptions.node', preemption.node, 0, nodes - 1);
  positive('preemptions.at', preemption.at);
  positive('preemptions.lasts', preemption.lasts);
  return preemption;
}

function checkRate(rate: PreemptionRate): PreemptionRate {
  positive('preemptionRate.lasts', rate.lasts);
  if (rate.perSecond > 0 && rate.perSecond * rate.lasts < 1e6) return rate;
  throw invalid('preemptionRate must be above 0 and leave the processor some time');
}

function positive(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw invalid(`${name} must be a number from 0, not ${String(value)}`);
}

function invalid(message: string): SimulatorError {
  return new SimulatorError('ERR_RDMC_INVALID_OPTION', `${WHERE}: ${message}`);
}
