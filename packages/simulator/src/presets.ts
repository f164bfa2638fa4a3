import type { Cluster, HostCosts, NicCosts } from './cluster.js';
import { SimulatorError } from './errors.js';

const NIC: NicCosts = { request: 0.3, latency: 1, acknowledgement: 1, headerBytes: 16, offload: 0.5 };

/** The C++ implementation of the paper. Table 1 has the copy of a block of 1 MiB, and both set-up times. */
const CPP_HOST: HostCosts = {
  completion: 0.5,
  post: 0.3,
  announcement: 0.3,
  copyMiB: 215,
  wakeUp: 5,
  sendSetUp: 7,
  incomingSetUp: 4,
};

/** The worker of this project over TCP between network namespaces: estimates, see the README. */
const NODE_HOST: HostCosts = {
  completion: 3,
  post: 1.5,
  announcement: 2,
  copyMiB: 150,
  wakeUp: 30,
  sendSetUp: 60,
  incomingSetUp: 120,
};

const CLUSTERS: readonly Cluster[] = [
  {
    name: 'fractus',
    description: '100 Gbit/s, full bisection (RDMC, section 5.1)',
    gbitPerSecond: 100,
    nic: NIC,
    host: CPP_HOST,
  },
  {
    name: 'stampede',
    description: '36.04 Gbit/s: fitted to the steps of Table 1 of RDMC',
    gbitPerSecond: 36.04,
    nic: NIC,
    host: CPP_HOST,
  },
  {
    name: 'sierra',
    description: '40 Gbit/s line rate, 32 Gbit/s of data',
    gbitPerSecond: 32,
    nic: NIC,
    host: CPP_HOST,
  },
  {
    name: 'apt',
    description: '56 Gbit/s, 16 Gbit/s for each member across racks of 8',
    gbitPerSecond: 56,
    uplinkGbitPerMember: 16,
    rackSize: 8,
    nic: NIC,
    host: CPP_HOST,
  },
  { name: 'hipower', description: '40 Gbit/s (HiPower)', gbitPerSecond: 40, nic: NIC, host: CPP_HOST },
  { name: 'tailwind', description: '56 Gbit/s (Tailwind)', gbitPerSecond: 56, nic: NIC, host: CPP_HOST },
  {
    name: 'netlab',
    description: '400 Mbit/s between network namespaces, TCP; costs are estimates',
    gbitPerSecond: 0.4,
    queueMicroseconds: 50_000,
    nic: { request: 5, latency: 50, acknowledgement: 50, headerBytes: 16, offload: 5 },
    host: NODE_HOST,
  },
];

/** The hardware that comes with the package, by name. */
export const presets: ReadonlyMap<string, Cluster> = new Map(
  CLUSTERS.map((cluster) => [cluster.name, Object.freeze(cluster)]),
);

/** @throws SimulatorError ERR_RDMC_UNKNOWN_PRESET */
export function presetNamed(name: string): Cluster {
  const found = presets.get(name);
  if (found) return found;
  throw new SimulatorError(
    'ERR_RDMC_UNKNOWN_PRESET',
    `No preset is named '${name}'; the presets are ${[...presets.keys()].join(', ')}`,
  );
}

/** Hardware whose processors, latencies and headers cost nothing: only bytes on links take time. */
export function idealCluster(gbitPerSecond: number, more: Partial<Cluster> = {}): Cluster {
  return {
    name: 'ideal',
    description: 'only bytes take time',
    gbitPerSecond,
    nic: { request: 0, latency: 0, acknowledgement: 0, headerBytes: 0, offload: 0 },
    host: {
      completion: 0,
      post: 0,
      announcement: 0,
      copyMiB: 0,
      wakeUp: 0,
      sendSetUp: 0,
      incomingSetUp: 0,
    },
    ...more,
  };
}
