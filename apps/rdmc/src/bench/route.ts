import type { Device } from '@rdmc/verbs';

/** The device of a benchmark, and how its queue pairs are connected. */
export interface BenchRoute {
  /** `soft`, or the name of an RDMA device. */
  readonly device: string;
  readonly transport: Transport;
}

export type Transport = 'shm' | 'tcp' | 'roce' | 'infiniband';

/** What the options say: the device, and a transport of the soft device. */
export interface BenchDevice {
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
}

/** @param transport of a connected queue pair, or of a group */
export function routeOf({ kind, name }: Device, transport: string): BenchRoute {
  return { device: kind === 'soft' ? 'soft' : name, transport: transport as Transport };
}

const WAYS: Readonly<Record<Transport, string>> = {
  shm: 'shared memory',
  tcp: 'TCP',
  roce: 'RoCE',
  infiniband: 'InfiniBand',
};

/** For people. */
export function describeRoute({ device, transport }: BenchRoute): string {
  return `${device === 'soft' ? 'soft device' : device} over ${WAYS[transport]}`;
}
