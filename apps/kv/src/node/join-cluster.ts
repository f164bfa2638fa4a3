import { createHash } from 'node:crypto';
import { Deferred, type Subscription, within } from '@rdmc/common';
import type { LiveMeshOptions, Member, Mesh } from '@rdmc/mesh';
import { type LiveNodeOptions, Node, type NodeWith } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import type { Lead } from '@rdmc/tailwind/coordinator';
import { COORDINATOR, isServer, memberName } from '../cluster/messages.js';
import { KvError } from '../errors.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';

/** A node that runs replicated logs only. */
export type LogsNode = NodeWith<{ readonly logs: ReturnType<typeof tailwind> }>;

type Place = Pick<
  LiveMeshOptions,
  'id' | 'join' | 'listen' | 'clusterId' | 'directory' | 'timeoutMs' | 'key' | 'silenceTimeoutMs'
>;

/**
 * A member's place in the mesh. The coordinator of the list begins a mesh each time it starts: members that run call it until they
 * reach it, and the others learn of each other there. Members with different lists are refused.
 *
 * A server asks the other servers first: a coordinator that was just started does not know the members' last incarnations yet,
 * and a server without its files needs a higher one than its former process had.
 */
export function placeOf(
  id: number,
  options: MemberOptions & { readonly clusterId?: string | undefined },
): Place {
  const { members, directory, key, joinTimeoutMs = JOIN_TIMEOUT_MS, silenceTimeoutMs } = options;
  const { host, port } = options.listen ?? members.find((member) => member.id === id)!;
  const inTurn = [
    ...members.filter((member) => isServer(member.id)),
    ...members.filter((member) => member.id === COORDINATOR),
  ];
  const others = inTurn.filter((member) => member.id !== id);
  return {
    id,
    join: id === COORDINATOR ? [] : others.map(addressOf),
    listen: { host, port },
    clusterId: options.clusterId ?? clusterIdOf(members),
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

/** The coordinator that acts, as a server knows it. */
export interface LeadSource {
  readonly lead: Lead | undefined;
  onLead(listener: () => void): Subscription;
}

export interface Awaited {
  /**
   * Other servers, whether they are in the list of members or have joined later: listed ones may have been removed. Undefined: all
   * in the list, at the first start of a cluster.
   */
  readonly servers?: number | undefined;
  readonly timeoutMs: number;
  /** The coordinator is waited for, too; undefined: this member is the coordinator. */
  readonly lead?: LeadSource | undefined;
}

/**
 * Resolves when this member is connected to the coordinator that acts, and to a number of servers.
 * @throws KvError ERR_RDMC_KV_JOIN_TIMEOUT; it names the missing members
 */
export async function waitForMembers(
  mesh: Mesh,
  members: readonly Member[],
  { servers, timeoutMs, lead }: Awaited,
): Promise<void> {
  const others = members.map(({ id }) => id).filter((id) => id !== mesh.id && isServer(id));
  const isAway = (id: number): boolean => mesh.peers.get(id)?.state !== 'connected';
  const isLed = (): boolean => lead === undefined || (lead.lead !== undefined && !isAway(lead.lead.member));
  const missing = (): number[] => [...(isLed() ? [] : [COORDINATOR]), ...others.filter(isAway)];
  const areHere = (): boolean =>
    servers === undefined ? !others.some(isAway) : connectedServers(mesh) >= servers;
  const ready = new Deferred<void>();
  const look = (): void => {
    if (isLed() && areHere()) ready.resolve();
  };
  const subscriptions = [mesh.onMember(look), ...(lead ? [lead.onLead(look)] : [])];
  look();
  const late = (): KvError => timeout(mesh.id, missing(), { servers, timeoutMs });
  try {
    await within(ready.promise, { timeoutMs, late, signal: mesh.signal });
  } finally {
    for (const each of subscriptions) each.close();
  }
}

function connectedServers({ peers }: Mesh): number {
  return [...peers.values()].filter(({ id, state }) => isServer(id) && state === 'connected').length;
}

function timeout(id: number, missing: readonly number[], { servers, timeoutMs }: Awaited): KvError {
  const names = missing.map(memberName).join(', ');
  // Not all of the missing ones are needed, and those that were removed do not come.
  const needed = servers === undefined ? '' : `; it needs ${servers} other servers, and the coordinator`;
  return new KvError(
    'ERR_RDMC_KV_JOIN_TIMEOUT',
    `After ${timeoutMs} ms ${memberName(id)} has no connection with ${names}${needed}`,
  );
}

/** The name of a cluster that was started with this list. */
function clusterIdOf(members: readonly Member[]): string {
  const list = members.map(({ id, host, port }) => `${id} ${host.toLowerCase()} ${port}\n`).join('');
  return `kv ${createHash('sha256').update(list).digest('hex')}`;
}

function addressOf({ host, port }: Member): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
