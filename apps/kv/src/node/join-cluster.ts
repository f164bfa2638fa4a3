import { createHash } from 'node:crypto';
import { Deferred, within } from '@rdmc/common';
import type { LiveMeshOptions, Member, Mesh } from '@rdmc/mesh';
import { type LiveNodeOptions, Node, type NodeWith } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { COORDINATOR } from '../cluster/messages.js';
import { KvError } from '../errors.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';

/** A node that runs replicated logs only. */
export type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

type Place = Pick<
  LiveMeshOptions,
  'id' | 'join' | 'listen' | 'clusterId' | 'directory' | 'timeoutMs' | 'key' | 'silenceTimeoutMs'
>;

/**
 * A member's place in the mesh. The coordinator begins a mesh each time it starts: members that run call it until they
 * reach it, and the others learn of each other there. Members with different lists are refused.
 *
 * A server asks the other servers first: a coordinator that was just started does not know the members' last incarnations yet,
 * and a server without its files needs a higher one than its former process had.
 */
export function placeOf(id: number, options: MemberOptions): Place {
  const { members, directory, key, joinTimeoutMs = JOIN_TIMEOUT_MS, silenceTimeoutMs } = options;
  const { host, port } = members.find((member) => member.id === id)!;
  const isServer = (member: Member): boolean => member.id !== COORDINATOR;
  const inTurn = [...members.filter(isServer), ...members.filter((member) => !isServer(member))];
  const others = inTurn.filter((member) => member.id !== id);
  return {
    id,
    join: id === COORDINATOR ? [] : others.map(addressOf),
    listen: { host, port },
    clusterId: clusterIdOf(members),
    directory,
    timeoutMs: joinTimeoutMs,
    ...(key !== undefined && { key }),
    ...(silenceTimeoutMs !== undefined && { silenceTimeoutMs }),
  };
}

/** Joins the cluster as a server: also one that runs. @throws as `Node.join` */
export function joinCluster(options: LiveNodeOptions): Promise<LogsNode> {
  return Node.join({ ...options, protocols: { logs: tailwind() } });
}

/**
 * Resolves when this member is connected to the coordinator, and to a number of servers.
 * @throws KvError ERR_RDMC_KV_JOIN_TIMEOUT; it names the missing members
 */
export async function waitForMembers(
  mesh: Mesh,
  members: readonly Member[],
  { servers, timeoutMs }: { servers: number; timeoutMs: number },
): Promise<void> {
  const all = members.map(({ id }) => id).filter((id) => id !== mesh.id);
  const missing = (): number[] => all.filter((id) => mesh.peers.get(id)?.state !== 'connected');
  const isReady = (): boolean => {
    const absent = missing();
    const absentServers = absent.filter((id) => id !== COORDINATOR).length;
    const present = all.filter((id) => id !== COORDINATOR).length - absentServers;
    return !absent.includes(COORDINATOR) && present >= servers;
  };
  const ready = new Deferred<void>();
  const subscription = mesh.onMember(() => {
    if (isReady()) ready.resolve();
  });
  if (isReady()) ready.resolve();
  const late = (): KvError => timeout(mesh.id, missing(), timeoutMs);
  try {
    await within(ready.promise, { timeoutMs, late, signal: mesh.signal });
  } finally {
    subscription.close();
  }
}

function timeout(id: number, missing: readonly number[], timeoutMs: number): KvError {
  const names = missing.map((member) => (member === COORDINATOR ? 'the coordinator' : `server ${member}`));
  const who = id === COORDINATOR ? 'the coordinator' : `server ${id}`;
  return new KvError(
    'ERR_RDMC_KV_JOIN_TIMEOUT',
    `After ${timeoutMs} ms ${who} has no connection with ${names.join(', ')}`,
  );
}

function clusterIdOf(members: readonly Member[]): string {
  const list = members.map(({ id, host, port }) => `${id} ${host.toLowerCase()} ${port}\n`).join('');
  return `kv ${createHash('sha256').update(list).digest('hex')}`;
}

function addressOf({ host, port }: Member): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
