import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
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
  /** The coordinator that acts, whichever member that is. */
  readonly coordinator: CoordinatorClient;
  readonly clientPort: ClientPort;
  /** Ids of all servers. */
  readonly servers: readonly number[];
  /** The addresses of all servers for clients. */
  nodes(): NodeAddress[];
}

/**
 * Listens, and joins the cluster with the port in its attributes. Clients that connect meanwhile wait.
 * @throws KvError ERR_RDMC_KV_LISTEN_FAILED, ERR_RDMC_KV_JOIN_TIMEOUT; as `Node.join`
 */
export async function becomeMember(options: ServerOptions, closers: CloseStack): Promise<Membership> {
  const { id, members, host = '127.0.0.1' } = options;
  const { port = DEFAULT_PORT, maxClients = DEFAULT_MAX_CLIENTS, replicas = DEFAULT_REPLICAS } = options;
  const own = members.find((member) => member.id === id)!;
  const clientPort = await ClientPort.listen({ host, port, maxClients, tls: options.tls });
  closers.add(() => clientPort.close());
  const announced = options.announce ?? (WILDCARDS.includes(host) ? own.host : host);
  const { joinTimeoutMs = JOIN_TIMEOUT_MS, device, windowMs } = options;
  const node = await joinCluster({
    ...placeOf(id, options),
    attributes: { kvPort: clientPort.port, kvHost: announced },
    ...(device !== undefined && { device }),
    ...(windowMs !== undefined && { windowMs }),
  });
  closers.add(() => node.close());
  const self = { member: id, host: announced, port: clientPort.port, connected: true };
  const servers = members.map((member) => member.id).filter(isServer);
  // A log needs its backups from its first append on. With fewer servers than that, its creation says so.
  const needed = Math.min(replicas, servers.length - 1);
  const coordinator = node.logs.coordinator(COORDINATOR);
  await waitForMembers(node.mesh, members, { servers: needed, timeoutMs: joinTimeoutMs, lead: coordinator });
  return { node, coordinator, clientPort, servers, nodes: () => [self, ...otherNodes(node.mesh)] };
}

function otherNodes(mesh: Mesh): NodeAddress[] {
  const others = [...mesh.peers.values()].filter(({ id }) => isServer(id));
  return others.map(({ id, attributes, state }) => ({
    member: id,
    host: String(attributes.kvHost),
    port: Number(attributes.kvPort),
    connected: state === 'connected',
  }));
}
