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

/** Device and transport, with the reasons for them, in one line. */
export function routeLine(route: DeviceRoute): string {
  const { device, reason, transportReason } = route;
  return `device ${device} (${reason}), transport ${transportsOf(route)} (${transportReason})`;
}

/** The whole route with reasons, in several lines. */
export function describeRoute(route: CastRoute): string[] {
  const { messageBytes, blockBytes, encrypted, algorithm, algorithmReason, blockReason, compression } = route;
  return [
    `  device     ${route.device}: ${route.reason}`,
    `  GID        ${route.gid ?? 'none: this device does not have an RDMA port'}`,
    `  transport  ${transportsOf(route)}: ${route.transportReason}`,
    `  schedule   ${algorithm}: ${algorithmReason}`,
    `  blocks     ${formatBytes(blockBytes)}, of messages of up to ${formatBytes(messageBytes)}: ${blockReason}`,
    ...(compression === null ? [] : [`  compressed ${compression}, before encryption`]),
    `  encryption ${encrypted ? 'AES-256-GCM, from this machine to each receiver' : 'none'}`,
    `  address    ${route.address}, at which receivers reach this machine`,
  ];
}
