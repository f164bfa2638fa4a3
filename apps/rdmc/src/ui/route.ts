import type { CastRoute, DeviceRoute } from '@rdmc/cast';
import { formatBytes } from './units.js';

const TRANSPORTS: Readonly<Record<string, string>> = {
  shm: 'shared memory',
  tcp: 'TCP',
  roce: 'RoCE',
  infiniband: 'InfiniBand',
};

function transportsOf({ transports }: DeviceRoute): string {
  return transports.map((name) => TRANSPORTS[name] ?? name).join(' and ');
}

/** What the bytes travel by and why, in one line. */
export function routeLine(route: DeviceRoute): string {
  const { device, reason, transportReason } = route;
  return `device ${device} (${reason}), transport ${transportsOf(route)} (${transportReason})`;
}

/** Why the bytes go the way they go. */
export function describeRoute(route: CastRoute): string[] {
  const { messageBytes, blockBytes } = route;
  return [
    `  device     ${route.device}: ${route.reason}`,
    `  GID        ${route.gid ?? 'none: this device has no RDMA port'}`,
    `  transport  ${transportsOf(route)}: ${route.transportReason}`,
    `  schedule   ${route.algorithm}, messages of up to ${formatBytes(messageBytes)} in blocks of ${formatBytes(blockBytes)}`,
    `  address    receivers reach this machine at ${route.address}`,
  ];
}
