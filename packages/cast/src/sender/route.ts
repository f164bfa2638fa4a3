import type { RdmcNode } from '@rdmc/group';
import type { CastRoute } from '../cast-progress.js';

type Device = RdmcNode['device'];
type Rest = Pick<CastRoute, 'algorithm' | 'messageBytes' | 'blockSizeBytes' | 'address'>;

/** How the bytes of a group travel, and why. */
export function routeOf(device: Device, transports: readonly string[], rest: Rest): CastRoute {
  const { kind, name, choice, transport } = device;
  return {
    device: name === kind ? kind : `${kind} ${name}`,
    reason: choice.reason,
    gid: transport === 'roce' ? `index ${choice.gidIndex}` : null,
    transports,
    transportReason: reasonFor(transport, transports),
    ...rest,
  };
}

function reasonFor(asked: Device['transport'], transports: readonly string[]): string {
  if (asked === 'roce' || asked === 'infiniband') return 'what the port of the device speaks';
  if (asked !== 'auto') return 'asked for';
  if (transports.length > 1) return 'shared memory within a host, TCP between hosts';
  return transports[0] === 'shm' ? 'all members are on one host' : 'no two neighbours share memory';
}
