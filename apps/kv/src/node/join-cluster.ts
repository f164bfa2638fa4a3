import { Node, type NodeOptions, type NodeWith } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { codeOf, KvError } from '../errors.js';

/** A node that runs replicated logs only. */
export type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

/**
 * Joins the cluster as a server. A mesh that has formed does not accept members, and a cluster that is being restarted may
 * still run for a moment: so the attempts repeat until the time-out.
 * @throws as `Node.join`; KvError ERR_RDMC_KV_LEFT_BEHIND: the cluster runs without this server
 */
export async function joinCluster(options: NodeOptions): Promise<LogsNode> {
  try {
    return await Node.join({ ...options, protocols: { logs: tailwind() } });
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    if (codeOf(cause) !== 'ERR_RDMC_MESH_ALREADY_FORMED') throw error;
    throw new KvError(
      'ERR_RDMC_KV_LEFT_BEHIND',
      `The cluster runs without server ${options.id}, which was lost: the other servers have its keys, and no ` +
        'server can join while they run. To add it again, end the coordinator and start all members again, with the ' +
        'same directories',
      { cause: error },
    );
  }
}
