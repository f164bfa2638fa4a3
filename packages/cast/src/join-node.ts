import { constants } from 'node:os';
import { RdmcNode } from '@rdmc/group';
import type { Transport } from '@rdmc/verbs';
import { type PortRange, portsInUse } from './ports.js';

type JoinOptions = Parameters<typeof RdmcNode.join>[0];
/** Of each kind of options, those without the device. */
type WithoutDevice<T> = T extends unknown ? Omit<T, 'device'> : never;

export interface DevicePlace {
  readonly device: string;
  readonly transport: Transport;
  /** Address of this machine that the device listens on. */
  readonly localHost: string;
  readonly ports: PortRange | undefined;
}

/**
 * Joins with a device that listens at the first free port of the range, or at any. Two casts of one host may look for a port
 * at once, so the device itself tries one after the other.
 * @throws CastError ERR_RDMC_ADDRESS_IN_USE; as `RdmcNode.join`
 */
export async function joinNode(place: DevicePlace, options: WithoutDevice<JoinOptions>): Promise<RdmcNode> {
  const { device, transport, localHost: host, ports } = place;
  const listen = ports ? { host, port: ports[0], lastPort: ports[1] } : { host };
  try {
    return await RdmcNode.join({ ...options, device: { device, transport, listen } });
  } catch (error) {
    throw ports && isInUse(error) ? portsInUse(host, ports, error) : error;
  }
}

function isInUse(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly errno?: number } };
  return cause?.errno === constants.errno.EADDRINUSE;
}
