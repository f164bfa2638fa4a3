import { HiPowerNode, type HiPowerNodeOptions } from '@rdmc/hipower';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { startMembers } from '@rdmc/testing';
import type { OpenDeviceOptions } from '@rdmc/verbs';

/** The device under test; RDMC_TEST_DEVICE names another one than the soft device. */
export const TEST_DEVICE = process.env.RDMC_TEST_DEVICE ?? 'soft';

/** Transports of the device under test. */
export const TRANSPORTS: readonly ('shm' | 'tcp' | 'auto')[] =
  TEST_DEVICE === 'soft' ? ['shm', 'tcp'] : ['auto'];

export function deviceOver(transport: 'shm' | 'tcp' | 'auto' = 'auto'): OpenDeviceOptions {
  return { device: TEST_DEVICE, ...(transport !== 'auto' && { transport }) };
}

/** The driver of the worker's side: RDMC_TEST_THREAD=application runs all tests with the driver in the application's thread. */
const thread = process.env.RDMC_TEST_THREAD === 'application' ? 'application' : 'worker';

/** Nodes 0 to `count` − 1 in this process, each with a worker and a device of its own. */
export async function startCluster(
  count: number,
  options: Partial<HiPowerNodeOptions> = {},
): Promise<HiPowerNode[]> {
  const reserved = await reserveLoopbackPorts(count);
  return startMembers(reserved, (place) =>
    HiPowerNode.join({ ...place, windowMs: 0, device: deviceOver(), thread, ...options }),
  );
}

export async function stopCluster(nodes: readonly HiPowerNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.close()));
}
