import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Mesh } from '@rdmc/mesh';
import { type Clock, Coordinator, FileStore, type StateStore } from '@rdmc/tailwind/coordinator';
import { COORDINATOR } from '../cluster/messages.js';
import { Placement, type PlacementEvents } from '../cluster/placement.js';
import { PlacementState } from '../cluster/placement-state.js';
import { DEFAULT_RETURN_MS } from '../limits.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';
import { placeOf, waitForMembers } from './join-cluster.js';

/** The place of a coordinator's state. */
export interface CoordinatorState {
  readonly directory: string;
  /** etcd's endpoints, to keep the state there and not in a file of the directory. */
  readonly etcd?: readonly string[] | undefined;
  /** Prefix of each key in etcd: one per cluster. */
  readonly etcdPrefix?: string | undefined;
  /** PEM file of the authority of etcd's certificates, for https endpoints. */
  readonly etcdCaFile?: string | undefined;
}

/** The options of `KvCoordinator.start`. */
export interface CoordinatorOptions extends MemberOptions, CoordinatorState {
  /** How long a server may answer reads without asking again (default 2 s). */
  readonly leaseMs?: number | undefined;
  /** How long servers that run may take to find a coordinator that was started again (default 20 s). */
  readonly returnMs?: number | undefined;
  /** The clock by which recoveries wait for the end of leases, in milliseconds (default: time since boot, suspended time included). */
  readonly clock?: Clock | undefined;
}

/** @throws TailwindError ERR_RDMC_STATE_LOCKED: a coordinator runs; and others of its stores */
export async function openStore(
  options: CoordinatorState,
): Promise<StateStore & { readonly signal?: AbortSignal }> {
  const { directory, etcd, etcdPrefix: prefix, etcdCaFile } = options;
  if (!etcd) return FileStore.open(join(directory, 'state'));
  const [user, password] = [process.env.RDMC_ETCD_USER, process.env.RDMC_ETCD_PASSWORD];
  // Most coordinators have no etcd: its client takes time to load.
  const { EtcdStore } = await import('@rdmc/tailwind/etcd');
  return EtcdStore.open({
    endpoints: etcd,
    ...(prefix !== undefined && { prefix }),
    ...(user !== undefined && password !== undefined && { user, password }),
    ...(etcdCaFile !== undefined && { tls: { ca: readFileSync(etcdCaFile) } }),
  });
}

/** The coordinator of a cluster. It keeps the servers' logs and slots in a file or in etcd, and does not see commands or values. */
export class KvCoordinator {
  private constructor(
    private readonly mesh: Mesh,
    private readonly coordinator: Coordinator,
    private readonly placement: Placement,
    /** Aborted when another coordinator uses the state: this one may not act any more. */
    readonly lost: AbortSignal | undefined,
  ) {}

  /**
   * Resolves when it coordinates: at the first start of a cluster when all servers have joined, later at once, since servers
   * run without it, and find it again.
   * @throws KvError ERR_RDMC_KV_JOIN_TIMEOUT; MeshError, TailwindError
   */
  static async start(options: CoordinatorOptions, events: PlacementEvents = {}): Promise<KvCoordinator> {
    const store = await openStore(options);
    try {
      const mesh = await Mesh.join(placeOf(COORDINATOR, options));
      return await KvCoordinator.#begin(mesh, store, options, events).catch(async (error: unknown) => {
        await mesh.close();
        throw error;
      });
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  static async #begin(
    mesh: Mesh,
    store: StateStore & { readonly signal?: AbortSignal },
    options: CoordinatorOptions,
    events: PlacementEvents,
  ): Promise<KvCoordinator> {
    const {
      members,
      joinTimeoutMs = JOIN_TIMEOUT_MS,
      returnMs = DEFAULT_RETURN_MS,
      leaseMs,
      clock,
    } = options;
    const isFirst = (await new PlacementState(store).storedTenures([])) === undefined;
    const servers = members.map(({ id }) => id).filter((id) => id !== COORDINATOR);
    const coordinator = await Coordinator.open({
      mesh,
      store,
      ...(leaseMs !== undefined && { leaseMs }),
      ...(clock && { clock }),
    });
    const times = { startMs: joinTimeoutMs, returnMs };
    const placement = new Placement({ mesh, coordinator, store, servers, ...times }, events);
    const made = new KvCoordinator(mesh, coordinator, placement, store.signal);
    try {
      if (isFirst) await waitForMembers(mesh, members, { servers: servers.length, timeoutMs: joinTimeoutMs });
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  /** Rises with each start over the same state. */
  get term(): number {
    return this.coordinator.term;
  }

  /**
   * Closes the coordinator and its store. The mesh's connections end with the process: servers would forget a member that
   * leaves, and they must call the one that follows at this address.
   */
  async end(): Promise<void> {
    await this.placement.close();
    await this.coordinator.close();
  }

  /** As `end`, and leaves the mesh: for the end of the whole cluster. */
  async close(): Promise<void> {
    await this.end();
    await this.mesh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
