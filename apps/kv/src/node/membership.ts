import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import type { ClusterMembers } from '../admin/members.js';
import { COORDINATOR, isServer } from '../cluster/messages.js';
import type { NodeAddress } from '../commands/node-view.js';
import { DEFAULT_MAX_CLIENTS, DEFAULT_PORT, DEFAULT_REPLICAS } from '../limits.js';
import { ClientPort } from '../server/client-port.js';
import type { CloseStack } from './close-stack.js';
import { JOIN_TIMEOUT_MS, type ServerOptions } from './cluster-options.js';
import { joinCluster, type LogsNode, placeOf, waitForMembers } from './join-cluster.js';

const WILDCARDS = ['0.0.0.0', '::'];

/** This server as a member of the cluster, with its port for clients. */
export interface Membership {
  readonly node: LogsNode;
  /** The member that coordinates: the first coordinator, or a standby. */
  readonly coordinator: CoordinatorClient;
  readonly clientPort: ClientPort;
  /** What a server that joins needs to know. */
  members(): ClusterMembers;
  /** Ids of all servers, of those that joined later too. */
  servers(): number[];
  /** The addresses for clients of the servers that are known: a server that failed keeps its last one. */
  nodes(): NodeAddress[];
}

/**
 * Listens, and joins the cluster with the port in its attributes. Clients that connect meanwhile wait.
 * @throws KvError ERR_RDMC_KV_LISTEN_FAILED, ERR_RDMC_KV_JOIN_TIMEOUT; as `Node.join`
 */
export async function becomeMember(options: ServerOptions, closers: CloseStack): Promise<Membership> {
  const { id, members, host = '127.0.0.1' } = options;
  const { port = DEFAULT_PORT, maxClients = DEFAULT_MAX_CLIENTS, replicas = DEFAULT_REPLICAS } = options;
  const place = placeOf(id, options);
  const clientPort = await ClientPort.listen({ host, port, maxClients, tls: options.tls });
  closers.add(() => clientPort.close());
  const announced = options.announce ?? (WILDCARDS.includes(host) ? place.listen.host : host);
  const { joinTimeoutMs = JOIN_TIMEOUT_MS, device, windowMs } = options;
  const node = await joinCluster({
    ...place,
    attributes: { kvPort: clientPort.port, kvHost: announced },
    ...(device !== undefined && { device }),
    ...(windowMs !== undefined && { windowMs }),
  });
  closers.add(() => node.close());
  const self = { member: id, host: announced, port: clientPort.port, connected: true };
  const others = members.map((member) => member.id).filter((member) => isServer(member) && member !== id);
  // A log needs its backups from its first append on. With fewer servers than that, its creation says so.
  const needed = Math.min(replicas, others.length);
  const coordinator = node.logs.coordinator(COORDINATOR);
  await waitForMembers(node.mesh, members, { servers: needed, timeoutMs: joinTimeoutMs, lead: coordinator });
  return {
    node,
    coordinator,
    clientPort,
    members: () => ({
      clusterId: place.clusterId!,
      members: node.mesh.members.map((member) => ({ id: member.id, host: member.host, port: member.port })),
    }),
    servers: () => serversOf(node.mesh, [id, ...(options.clusterId === undefined ? others : [])]),
    nodes: () => [self, ...otherNodes(node.mesh)],
  };
}

/** Those of the mesh that have not left, and those of the list that have not come. */
function serversOf({ peers }: Mesh, listed: readonly number[]): number[] {
  const all = new Set(listed);
  for (const { id, state } of peers.values()) {
    if (isServer(id) && state !== 'left') all.add(id);
  }
  return [...all].sort((a, b) => a - b);
}

/** Without those that this server knows from others only: nobody told it where clients connect with them. */
function otherNodes({ peers }: Mesh): NodeAddress[] {
  return [...peers.values()].flatMap(({ id, attributes: { kvHost, kvPort }, state }) => {
    if (!isServer(id) || typeof kvHost !== 'string' || typeof kvPort !== 'number') return [];
    return [{ member: id, host: kvHost, port: kvPort, connected: state === 'connected' }];
  });
}
