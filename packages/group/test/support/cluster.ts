import { RdmcNode, type NodeOptions } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh';

/** Nodes 0 to `count` − 1 in this process, each with a worker and a device of its own. */
export async function startCluster(
  count: number,
  options: Partial<NodeOptions> | ((id: number) => Partial<NodeOptions>) = {},
): Promise<RdmcNode[]> {
  const reserved = await reserveLoopbackPorts(count);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  return Promise.all(
    reserved.map(({ server }, id) =>
      RdmcNode.join({
        id,
        members,
        server,
        windowMs: 0,
        ...(typeof options === 'function' ? options(id) : options),
      }),
    ),
  );
}

export async function stopCluster(nodes: readonly RdmcNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.close()));
}
