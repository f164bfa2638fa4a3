import type { ClusterStatus, ServerStatus } from '../admin/status.js';
import type { Connection } from '../client/connection.js';
import { codeOf } from '../errors.js';
import { SLOTS } from '../limits.js';
import type { Endpoint } from '../values.js';

/** How a snapshot reaches a cluster: as its clients do. */
export interface ClusterAccess {
  status(): Promise<ClusterStatus>;
  /** @throws KvError ERR_RDMC_KV_UNREACHABLE, ERR_RDMC_KV_UNAUTHENTICATED */
  connect(endpoint: Endpoint): Promise<Connection>;
}

/** The server of each slot, and where clients of each server connect. */
export interface Placed {
  readonly owners: Int32Array;
  readonly addresses: ReadonlyMap<number, Endpoint>;
}

export function placedBy({ servers }: { readonly servers: readonly ServerStatus[] }): Placed {
  const owners = new Int32Array(SLOTS).fill(-1);
  const addresses = new Map<number, Endpoint>();
  for (const { server, slots, address } of servers) {
    if (address === null) continue;
    addresses.set(server, address);
    for (const [from, to] of slots) owners.fill(server, from, to + 1);
  }
  return { owners, addresses };
}

/** Whether a server is away: what was asked of it can be asked again, of the server that takes its place. */
export function isLost(error: unknown): boolean {
  return ['ERR_RDMC_KV_MEMBER_LOST', 'ERR_RDMC_KV_UNREACHABLE'].includes(codeOf(error));
}
