import type { RdmcNode } from '@rdmc/group';
import type { DeviceRoute } from './cast-progress.js';

type Device = RdmcNode['device'];

/** The device and transports of a group, and why they were chosen. */
export function routeOf(
  { kind, name, choice, transport }: Device,
  transports: readonly string[],
): DeviceRoute {
  return {
    device: name === kind ? kind : `${kind} ${name}`,
    reason: choice.reason,
    gid: transport === 'roce' ? `index ${choice.gidIndex}` : null,
    transports,
    transportReason: reasonFor(transport, transports),
  };
}

function reasonFor(asked: Device['transport'], transports: readonly string[]): string {
  if (asked === 'roce' || asked === 'infiniband') return 'the link layer of the device port';
  if (asked !== 'auto') return 'asked for';
  if (transports.length > 1) return 'shared memory within a host, TCP between hosts';
  return transports[0] === 'shm' ? 'all members are on one host' : 'no two neighbours share memory';
}
