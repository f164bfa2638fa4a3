import { type Chances, chances } from '../random.js';

/** Faults of a cluster of `kv server` under load; each server is primary of a part and backup of the others. */
export const KV_SCENARIOS = [
  'kv-server',
  'kv-servers',
  'kv-stopped',
  'kv-torn',
  'kv-power',
  'kv-coordinator',
  'kv-coordinator-server',
  'kv-takeover',
  'kv-return',
  'kv-coordinator-pause',
  'kv-hand-over',
  'kv-join',
  'kv-drain',
  'kv-standby',
  'kv-partition',
  'kv-move-deaths',
  'kv-move-standby',
  'kv-move-partition',
  'kv-upgrade',
  'kv-twin',
  'kv-twin-stopped',
  'kv-twin-cut',
  'kv-remove',
  'kv-drain-death',
  'kv-full-disk',
] as const;
export type KvScenario = (typeof KV_SCENARIOS)[number];

/** The coordinators' state is in etcd, and one or two standbys wait. */
export const NEEDS_ETCD: readonly KvScenario[] = [
  'kv-standby',
  'kv-partition',
  'kv-move-standby',
  'kv-move-partition',
];
/** Where the processes are: in a lab, all servers are in one host, or each is in its own. */
export type KvPlace = 'loopback' | 'servers together' | 'servers apart';

/** The coordinators, etcd and the servers are in network namespaces. */
const IN_LAB: Partial<Record<KvScenario, KvPlace>> = {
  'kv-partition': 'servers together',
  'kv-move-partition': 'servers apart',
  'kv-twin-cut': 'servers apart',
};

/** The directory of each server is a small file system of its own. */
export const SMALL_DISKS: readonly KvScenario[] = ['kv-full-disk'];

export const KV_NEEDS_ROOT: readonly KvScenario[] = KV_SCENARIOS.filter(
  (scenario) => scenario in IN_LAB || SMALL_DISKS.includes(scenario),
);

export function placeOf(scenario: KvScenario): KvPlace {
  return IN_LAB[scenario] ?? 'loopback';
}

/** The others wait 8 s for a coordinator that is silent. */
export const PAUSE_MS = [2_000, 15_000] as const;
/** A recovery waits up to 2.2 s for a lease, and reads little then. */
export const LONGEST_TAKEOVER_MS = 4_000;

export interface KvShape {
  readonly servers: number;
  readonly replicas: number;
  /** Above 0: the coordinators' state is in etcd. */
  readonly standbys: number;
}

export interface KvPlan {
  readonly seed: number;
  readonly scenario: KvScenario;
  readonly shape: KvShape;
  readonly clients: number;
  readonly before: number;
  readonly after: number;
  /** Bytes of one-sided writes until a server dies in the middle of one. */
  readonly tearAfterBytes: number;
  /** Acknowledged writes while a process is away that is started again. */
  readonly away: number;
  /** Whether a server that returns has its files. */
  readonly hasFiles: boolean;
}

export interface DrawnKv {
  readonly plan: KvPlan;
  readonly random: Chances;
}

/** A second server dies, is cut off, or is to go. */
const TWO_DEATHS: readonly KvScenario[] = [
  'kv-return',
  'kv-hand-over',
  'kv-join',
  'kv-drain',
  'kv-move-deaths',
  'kv-move-standby',
  'kv-move-partition',
  'kv-full-disk',
];

/** Everything that a seed determines. */
export function drawKv(seed: number, among: readonly KvScenario[]): DrawnKv {
  const random = chances(seed);
  const scenario = random.pick(among);
  const drawn = random.pick([1, 2, 2]);
  // Of the log of the second server that dies, a replica may have been lost with the first one.
  const replicas = TWO_DEATHS.includes(scenario) ? 2 : drawn;
  const plan: KvPlan = {
    seed,
    scenario,
    shape: {
      servers: serversOf(scenario, replicas),
      replicas,
      standbys: NEEDS_ETCD.includes(scenario) ? random.integer(1, 2) : 0,
    },
    clients: random.integer(2, 6),
    before: random.integer(20, 250),
    after: random.integer(5, 60),
    tearAfterBytes: random.integer(1000, 20_000),
    away: random.integer(0, 100),
    hasFiles: random.integer(0, 2) > 0,
  };
  return { plan, random };
}

function serversOf(scenario: KvScenario, replicas: number): number {
  // After the drain of one and the death of another, r backups are left of each log: one of them is the drained server.
  if (scenario === 'kv-drain-death') return replicas + 2;
  // Enough for new replicas after the loss of r servers.
  return 2 * replicas + 1;
}
