import { DataPlane, type ProtocolModule } from '@rdmc/dataplane';
import { HiPowerNode, hiPowerProtocol } from '@rdmc/hipower';
import { Mesh, reserveLoopbackPorts } from '@rdmc/mesh';
import { onTestFinished } from 'vitest';
import { deviceOver } from './cluster.js';

/** A node on a mesh and a data plane that the test sees; all of them are closed when the test ends. */
export interface Member {
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  readonly node: HiPowerNode;
}

/** Members 0 to `count` − 1; those that `workers` names have another worker's module, of this folder. */
export async function startMembers(
  count: number,
  workers: Readonly<Record<number, string>>,
  transport: 'shm' | 'tcp' | 'auto' = 'auto',
): Promise<Member[]> {
  const reserved = await reserveLoopbackPorts(count);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const started = await Promise.all(
    reserved.map(async ({ server }, id) => {
      const mesh = await Mesh.join({ id, members, server });
      const protocols = [protocolOf(workers[id])];
      const plane = await DataPlane.start({ device: deviceOver(transport), protocols, windowMs: 0 });
      return { mesh, plane, node: HiPowerNode.attach(mesh, plane) };
    }),
  );
  onTestFinished(async () => {
    await Promise.all(started.map(({ node }) => node.close()));
    await Promise.all(started.flatMap(({ mesh, plane }) => [mesh.close(), plane.close()]));
  });
  return started;
}

function protocolOf(worker: string | undefined): ProtocolModule {
  const own = hiPowerProtocol();
  return worker === undefined ? own : { ...own, module: new URL(worker, import.meta.url) };
}
