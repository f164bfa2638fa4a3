import { optionChecks } from '@rdmc/common/checks';
import type { Cluster } from '../cluster.js';
import { SimulatorError } from '../errors.js';
import { presetNamed } from '../presets.js';

/** What a recovery costs its threads, in microseconds. */
export interface RecoveryCosts {
  /** Before the first segment is asked for: the leader fences the log, and plans. */
  readonly plan: number;
  /** A backup's scanning thread: to check one object of a segment, and to divide it among the heirs. */
  readonly scan: number;
  /** An heir's thread: to replay one object, and to append it to its own log. */
  readonly replay: number;
}

/**
 * Of this repository's key-value store with objects of 130 bytes. `plan` and `scan` are measured (docs/results/logs.md); `replay` is
 * fitted to one measured recovery of 200,000 objects by four servers on two processors (docs/results/key-value.md).
 */
export const defaultRecoveryCosts: RecoveryCosts = { plan: 240_000, scan: 0.38, replay: 6 };

/** Options of `simulateRecovery`. */
export interface SimulateRecoveryOptions {
  /** A preset's name, or hardware. Only its links count. */
  readonly cluster: string | Cluster;
  /** Servers that are left after one was killed: each is a backup. 1 to 256. */
  readonly servers: number;
  /** Of these, how many share the dead server's objects among them. Default: all. */
  readonly heirs?: number | undefined;
  /** Objects of the dead server. */
  readonly objects: number;
  /** Bytes of one object in the log, with its headers. Default 154: a key and a value of 130 bytes together. */
  readonly objectBytes?: number | undefined;
  /** Bytes of a segment. Default 8 MiB. */
  readonly segmentBytes?: number | undefined;
  /** Backups of each segment, and of each heir's appends; at most `servers`. Default 3. */
  readonly replicas?: number | undefined;
  /** What a backup's disk reads, in 10^6 bytes per second; if it is not given, replicas are in memory. */
  readonly diskMegabytesPerSecond?: number | undefined;
  /** Processors that all servers share, as on one host; if it is not given, each thread has its own. */
  readonly processors?: number | undefined;
  /** In place of some of `defaultRecoveryCosts`. */
  readonly costs?: Partial<RecoveryCosts> | undefined;
  /** Of the choice of backups. Default 1. */
  readonly seed?: number | undefined;
  /** Default: what this process may use. A simulation that needs more is refused. */
  readonly memoryLimitBytes?: number | undefined;
}

export interface RecoverySetting {
  readonly cluster: Cluster;
  readonly servers: number;
  readonly heirs: number;
  readonly objects: number;
  readonly objectBytes: number;
  readonly segmentBytes: number;
  readonly replicas: number;
  /** Bytes per microsecond; infinite: replicas are in memory. */
  readonly diskRate: number;
  /** Infinite: each thread has its own. */
  readonly processors: number;
  readonly costs: RecoveryCosts;
  readonly seed: number;
}

/** Objects are not divided between segments. */
export const objectsPerSegment = ({ segmentBytes, objectBytes }: RecoverySetting) =>
  Math.floor(segmentBytes / objectBytes);
/** The whole segments of the log, and the rest. */
export const segmentsOf = (setting: RecoverySetting) =>
  Math.ceil(setting.objects / objectsPerSegment(setting));

const NAME = 'simulateRecovery';
const KEYS = [
  ...['cluster', 'servers', 'heirs', 'objects', 'objectBytes', 'segmentBytes', 'replicas'],
  ...['diskMegabytesPerSecond', 'processors', 'costs', 'seed', 'memoryLimitBytes'],
];
const MOST_SERVERS = 256;
const MOST_OBJECTS = 1e9;
const MOST_BYTES = 2 ** 30;
/** Segments of one recovery: each is a part for each heir. */
const MOST_SEGMENTS = 100_000;
const { integerOption, onlyKnownOptions } = optionChecks(
  (code, message) => new SimulatorError(code, message),
);
const invalidOption = (message: string) => new SimulatorError('ERR_RDMC_INVALID_OPTION', message);

/** @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkRecoveryOptions(options: SimulateRecoveryOptions): RecoverySetting {
  onlyKnownOptions(NAME, options, KEYS);
  const {
    cluster,
    servers,
    heirs = servers,
    objects,
    objectBytes = 154,
    segmentBytes = 8 * 2 ** 20,
  } = options;
  const { replicas = Math.min(3, servers), diskMegabytesPerSecond, processors, seed = 1 } = options;
  integerOption(NAME, 'servers', servers, 1, MOST_SERVERS);
  integerOption(NAME, 'heirs', heirs, 1, servers);
  integerOption(NAME, 'objects', objects, 1, MOST_OBJECTS);
  integerOption(NAME, 'objectBytes', objectBytes, 1, MOST_BYTES);
  integerOption(NAME, 'segmentBytes', segmentBytes, objectBytes, MOST_BYTES);
  integerOption(NAME, 'replicas', replicas, 1, servers);
  integerOption(NAME, 'seed', seed, 0, 2 ** 32 - 1);
  if ((objects * objectBytes) / segmentBytes > MOST_SEGMENTS) {
    throw invalidOption(`${NAME}: the objects need more than ${MOST_SEGMENTS} segments; take larger ones`);
  }
  return {
    cluster: typeof cluster === 'string' ? presetNamed(cluster) : cluster,
    ...{ servers, heirs, objects, objectBytes, segmentBytes, replicas, seed },
    diskRate: positiveOption('diskMegabytesPerSecond', diskMegabytesPerSecond),
    processors: positiveOption('processors', processors),
    costs: checkedCosts(options.costs ?? {}),
  };
}

/** Infinite if the option is not given. */
function positiveOption(name: string, value: number | undefined): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  if (value > 0 && value < Number.POSITIVE_INFINITY) return value;
  throw invalidOption(`${NAME}: ${name} must be a positive number, not ${String(value)}`);
}

function checkedCosts(costs: Partial<RecoveryCosts>): RecoveryCosts {
  onlyKnownOptions(`${NAME}: costs`, costs, Object.keys(defaultRecoveryCosts));
  const all = { ...defaultRecoveryCosts, ...costs };
  for (const [name, value] of Object.entries(all)) {
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) {
      throw invalidOption(`${NAME}: costs.${name} must be 0 or more, not ${String(value)}`);
    }
  }
  return all;
}
