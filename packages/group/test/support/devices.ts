import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { startMembers } from '@rdmc/testing';

/** Starts node i of this process on the RDMA device `devices[i]`. */
export async function startOn(devices: readonly string[]): Promise<RdmcNode[]> {
  const reserved = await reserveLoopbackPorts(devices.length);
  return startMembers(reserved, (place) =>
    RdmcNode.join({ ...place, windowMs: 0, device: devices[place.id]! }),
  );
}
