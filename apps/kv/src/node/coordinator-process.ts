import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Mesh } from '@rdmc/mesh';
import { type Clock, Coordinator, FileStore, type StateStore } from '@rdmc/tailwind/coordinator';
import { EtcdStore } from '@rdmc/tailwind/etcd';
import { COORDINATOR } from '../cluster/messages.js';
import { Placement, type PlacementEvents } from '../cluster/placement.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';

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

  /** Resolves when all members have joined. @throws MeshError, TailwindError */
  static async start(options: CoordinatorOptions, events: PlacementEvents = {}): Promise<KvCoordinator> {
    const store = await openStore(options);
    try {
      const { members, key, joinTimeoutMs = JOIN_TIMEOUT_MS, silenceTimeoutMs, leaseMs, clock } = options;
      const mesh = await Mesh.join({
        id: COORDINATOR,
        members,
        timeoutMs: joinTimeoutMs,
        ...(key !== undefined && { key }),
        ...(silenceTimeoutMs !== undefined && { silenceTimeoutMs }),
      });
      const coordinator = await Coordinator.open({
        mesh,
        store,
        ...(leaseMs !== undefined && { leaseMs }),
        ...(clock && { clock }),
      });
      const placement = new Placement(mesh, coordinator, store, events);
      return new KvCoordinator(mesh, coordinator, placement, store.signal);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Closes the coordinator and its store, and leaves the mesh. */
  async close(): Promise<void> {
    await this.placement.close();
    await this.coordinator.close();
    await this.mesh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
