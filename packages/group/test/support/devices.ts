import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh';

/** Node i of this process on the RDMA device of that name. */
export async function startOn(devices: readonly string[]): Promise<RdmcNode[]> {
  const reserved = await reserveLoopbackPorts(devices.length);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  return Promise.all(
    reserved.map(({ server }, id) =>
      RdmcNode.join({ id, members, server, windowMs: 0, device: devices[id]! }),
    ),
  );
}
