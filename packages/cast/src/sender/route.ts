import type { RdmcNode } from '@rdmc/group';
import type { Transport } from '@rdmc/verbs';
import type { CastRoute } from '../cast-progress.js';

type Device = RdmcNode['device'];
type Rest = Pick<CastRoute, 'algorithm' | 'messageBytes' | 'blockSizeBytes' | 'address'>;

/** How the bytes of a group travel, and why. */
export function routeOf(device: Device, transports: readonly string[], rest: Rest): CastRoute {
  const { kind, name, choice, transport } = device;
  return {
    device: name === kind ? kind : `${kind} ${name}`,
    reason: choice.reason,
    // Only devices of the soft kind are opened so far; addresses of RDMA ports are GIDs.
    gid: null,
    transports,
    transportReason: reasonFor(transport, transports),
    ...rest,
  };
}

function reasonFor(asked: Transport, transports: readonly string[]): string {
  if (asked !== 'auto') return 'asked for';
  if (transports.length > 1) return 'shared memory within a host, TCP between hosts';
  return transports[0] === 'shm' ? 'all members are on one host' : 'no two neighbours share memory';
}
