import {
  type DividedSegment,
  type HeirShare,
  PULL_WINDOW,
  PullMachine,
  planShares,
  planSources,
  workOf,
} from '@rdmc/tailwind/format';
import { after, Clock } from '../clock.js';
import { bytesPerMicrosecond } from '../cluster.js';
import { SimulatorError } from '../errors.js';
import { refuseLarger } from '../memory-limit.js';
import { Network } from '../network.js';
import { Random } from '../random.js';
import { limit } from './job.js';
import { recoveryBytes } from './memory.js';
import {
  checkRecoveryOptions,
  objectsPerSegment,
  type RecoverySetting,
  type SimulateRecoveryOptions,
  segmentsOf,
} from './options.js';
import { type RecoveryParts, RecoveryServer } from './recovery-server.js';

/** The part of one server in a recovery. */
export interface RecoveryServerReport {
  /** Its number, from 0. */
  readonly server: number;
  /** Bytes of the dead log that it read and scanned, as a backup. */
  readonly scanned: number;
  /** Of these, given to heirs. */
  readonly served: number;
  /** Bytes that it pulled, replayed and appended to its own log, as an heir. */
  readonly pulled: number;
  /** Microseconds in which its scanning thread and its other thread had work. */
  readonly busy: number;
}

/** The result of `simulateRecovery`. */
export interface RecoveryReport {
  /** From the begin of the recovery until all objects are in the logs of the heirs. */
  readonly microseconds: number;
  /** Segments of the dead log. */
  readonly segments: number;
  /** Each server that was left. */
  readonly servers: readonly RecoveryServerReport[];
  /** The most that a server scanned, pulled or worked, over the mean of those that do so: 1 is an equal share. */
  readonly mostOverMean: { readonly scanned: number; readonly pulled: number; readonly busy: number };
  /** Events of the simulation. */
  readonly events: number;
}

/** Slots of the dead server. */
const SLOTS = 16_384;
/** Rates are computed again at most once in this part of the time of one part of a segment on a link. */
const ROUND = 0.01;

/** The whole segments of the log, then the rest; each has replicas at some servers. The shipped functions choose the sources. */
function planned(setting: RecoverySetting) {
  const { objects, objectBytes, servers, replicas, seed } = setting;
  const random = new Random(seed);
  const perSegment = objectsPerSegment(setting);
  const segments = Array.from({ length: segmentsOf(setting) }, (_, index) => {
    const count = Math.min(perSegment, objects - index * perSegment);
    const candidates = choose(servers, replicas, random);
    return { segmentId: BigInt(index + 1), candidates, floorBytes: count * objectBytes, checksum: 0 };
  });
  return planSources({ segments });
}

/** `count` different numbers below `below`. */
function choose(below: number, count: number, random: Random): number[] {
  const all = Array.from({ length: below }, (_, index) => index);
  return Array.from({ length: count }, () => all.splice(Math.floor(random.fraction() * all.length), 1)[0]!);
}

/** The shares of the heirs, which are the first servers. */
function sharesOf({ heirs }: RecoverySetting): HeirShare[] {
  const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
  const members = Array.from({ length: heirs }, (_, member) => member);
  return planShares(slots, members).map(({ heir, slots: own }) => {
    return { member: heir, ranges: [[own[0]!, own.at(-1)!]] };
  });
}

/** One simulation. */
class RecoveryRun {
  readonly #clock = new Clock();
  readonly #segments: readonly DividedSegment[];
  readonly #shares: readonly HeirShare[];
  readonly #servers: RecoveryServer[] = [];
  readonly #network: Network;
  #left: number;
  #endedAt = 0;

  constructor(private readonly setting: RecoverySetting) {
    this.#segments = planned(setting);
    this.#shares = sharesOf(setting);
    this.#left = this.#shares.length;
    const part = setting.segmentBytes / setting.heirs;
    const rate = bytesPerMicrosecond(setting.cluster.gbitPerSecond);
    this.#network = new Network(this.#clock, (ROUND * part) / rate);
    const parts = this.#parts();
    for (let id = 0; id < setting.servers; id += 1) this.#servers.push(new RecoveryServer(parts, id));
  }

  /** @throws SimulatorError ERR_RDMC_SIMULATION_STUCK */
  run(): void {
    const division = { logId: 1n, attempt: 0, segments: this.#segments };
    after(this.#clock, this.setting.costs.plan, () => {
      for (const { member } of this.#shares) {
        this.#servers[member]!.pull(new PullMachine(division, PULL_WINDOW));
      }
    });
    this.#clock.run(() => this.#network.settle());
    if (this.#left === 0) return;
    const message = `${this.#left} heirs do not have their parts: a defect of the simulator`;
    throw new SimulatorError('ERR_RDMC_SIMULATION_STUCK', message);
  }

  report(): RecoveryReport {
    const servers = this.#servers.map(({ id, scanned, served, pulled, busy }) => {
      return { server: id, scanned, served, pulled, busy };
    });
    return {
      microseconds: this.#endedAt,
      segments: this.#segments.length,
      servers,
      mostOverMean: {
        scanned: mostOverMean(servers.map(({ scanned }) => scanned)),
        pulled: mostOverMean(servers.slice(0, this.setting.heirs).map(({ pulled }) => pulled)),
        busy: mostOverMean(servers.map(({ busy }) => busy)),
      },
      events: this.#clock.events,
    };
  }

  #parts(): RecoveryParts {
    const bytes = new Map(this.#segments.map(({ segmentId, byteLength }) => [segmentId, byteLength]));
    const total = this.#segments.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const work = workOf(this.#segments, this.#shares);
    return {
      setting: this.setting,
      clock: this.#clock,
      network: this.#network,
      shared: limit('processors', this.setting.processors),
      servers: this.#servers,
      bytesOf: (segmentId) => bytes.get(segmentId)!,
      shareOf: (heir) => work.get(heir)!.pulled / total,
      recovered: () => {
        this.#left -= 1;
        this.#endedAt = this.#clock.now;
      },
    };
  }
}

function mostOverMean(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return mean === 0 ? 1 : Math.max(...values) / mean;
}

/**
 * Recovers a killed server on simulated hardware. The planning functions of `@rdmc/tailwind` choose which backup reads which
 * segment, and which heir gets which slots; its pulling machine decides what each heir asks for, and when. Disks, scanning
 * threads, links, heirs' threads and processors are shared max-min fairly. Costs of threads are inputs, so a result is
 * calibrated, not predicted. Objects are spread evenly over slots, and nothing fails.
 * @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION,
 * ERR_RDMC_SIMULATION_TOO_LARGE (before it starts), ERR_RDMC_SIMULATION_STUCK
 */
export function simulateRecovery(options: SimulateRecoveryOptions): RecoveryReport {
  const setting = checkRecoveryOptions(options);
  refuseLarger(recoveryBytes(setting), options.memoryLimitBytes);
  const run = new RecoveryRun(setting);
  run.run();
  return run.report();
}
