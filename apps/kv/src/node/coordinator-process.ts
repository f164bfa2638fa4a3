import { join } from 'node:path';
import { Mesh } from '@rdmc/mesh';
import { Coordinator, FileStore } from '@rdmc/tailwind';
import { COORDINATOR } from '../cluster/messages.js';
import { Placement, type PlacementEvents } from '../cluster/placement.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';

/** The coordinator of a cluster: who has which log and which slots, in a file. It sees no command and no value. */
export class KvCoordinator {
  private constructor(
    private readonly mesh: Mesh,
    private readonly coordinator: Coordinator,
    private readonly placement: Placement,
  ) {}

  /** Resolves when all members are there. @throws MeshError, TailwindError */
  static async start(
    options: MemberOptions & { readonly leaseMs?: number | undefined },
    events: PlacementEvents = {},
  ): Promise<KvCoordinator> {
    const { members, key, directory, joinTimeoutMs = JOIN_TIMEOUT_MS, silenceTimeoutMs, leaseMs } = options;
    const store = await FileStore.open(join(directory, 'state'));
    const mesh = await Mesh.join({
      id: COORDINATOR,
      members,
      timeoutMs: joinTimeoutMs,
      ...(key !== undefined && { key }),
      ...(silenceTimeoutMs !== undefined && { silenceTimeoutMs }),
    });
    const coordinator = await Coordinator.start({ mesh, store, ...(leaseMs !== undefined && { leaseMs }) });
    return new KvCoordinator(mesh, coordinator, new Placement(mesh, coordinator, store, events));
  }

  async close(): Promise<void> {
    await this.placement.close();
    await this.coordinator.close();
    await this.mesh.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
