import { ownLevels } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { type Clock, Coordinator } from '@rdmc/tailwind/coordinator';
import { isServer } from '../cluster/messages.js';
import { Placement } from '../cluster/placement.js';
import { foreignState } from '../cluster/placement-errors.js';
import type { PlacementEvents } from '../cluster/placement-events.js';
import { PlacementState } from '../cluster/placement-state.js';
import { DEFAULT_RETURN_MS, STANDBY_ROLL_CALL_MS } from '../limits.js';
import { LevelKeeper } from '../upgrade/level-keeper.js';
import { JOIN_TIMEOUT_MS, type MemberOptions } from './cluster-options.js';
import type { CoordinatorStore } from './coordinator-store.js';
import { waitForMembers } from './join-cluster.js';

export interface SeatOptions extends Pick<MemberOptions, 'members' | 'joinTimeoutMs'> {
  /** How long a server may answer reads without asking again (default 2 s). */
  readonly leaseMs?: number | undefined;
  /** How long servers that run may take to find a coordinator that was started again (default 20 s). */
  readonly returnMs?: number | undefined;
  /** The clock by which recoveries wait for the end of leases, in milliseconds (default: time since boot, suspended time included). */
  readonly clock?: Clock | undefined;
}

/** One term of a coordinator: it acts from the construction of its parts until it is closed. */
export class CoordinatorSeat {
  private constructor(
    private readonly coordinator: Coordinator,
    private readonly placement: Placement,
    private readonly levels: LevelKeeper,
    private readonly store: CoordinatorStore,
  ) {}

  /**
   * Resolves when it coordinates: at the first start of a cluster when all servers have joined, later at once. The store is closed
   * with it, and where it fails.
   * @throws KvError ERR_RDMC_KV_JOIN_TIMEOUT; TailwindError
   */
  static async take(
    mesh: Mesh,
    store: CoordinatorStore,
    options: SeatOptions,
    events: PlacementEvents,
  ): Promise<CoordinatorSeat> {
    try {
      return await CoordinatorSeat.#take(mesh, store, options, events);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  static async #take(
    mesh: Mesh,
    store: CoordinatorStore,
    options: SeatOptions,
    events: PlacementEvents,
  ): Promise<CoordinatorSeat> {
    const {
      members,
      joinTimeoutMs = JOIN_TIMEOUT_MS,
      returnMs = DEFAULT_RETURN_MS,
      leaseMs,
      clock,
    } = options;
    const isFirst = (await new PlacementState(store).storedTenures([])) === undefined;
    const servers = members.map(({ id }) => id).filter(isServer);
    // Servers that are connected know this coordinator at once.
    const isFound = [...mesh.peers.values()].some(({ id, state }) => isServer(id) && state === 'connected');
    const rollCallMs = isFound ? Math.min(returnMs, STANDBY_ROLL_CALL_MS) : returnMs;
    const coordinator = await Coordinator.open({
      mesh,
      store,
      ...(leaseMs !== undefined && { leaseMs }),
      ...(clock && { clock }),
      onForeign: reportForeign(events),
    });
    const times = { startMs: joinTimeoutMs, returnMs, rollCallMs };
    const placement = new Placement({ mesh, coordinator, store, servers, ...times }, events);
    const logs = () => coordinator.logs();
    const levels = new LevelKeeper({
      mesh,
      orders: coordinator.channel,
      store,
      logs,
      levels: ownLevels(),
      waitMs: rollCallMs,
      ended: coordinator.signal,
    });
    const made = new CoordinatorSeat(coordinator, placement, levels, store);
    try {
      if (isFirst) await waitForMembers(mesh, members, { timeoutMs: joinTimeoutMs });
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  /** Rises with each term over the same state. */
  get term(): number {
    return this.coordinator.term;
  }

  /** Aborted when another coordinator leads; undefined: that cannot happen. */
  get lost(): AbortSignal | undefined {
    return this.store.signal;
  }

  /** Resolves when this member does not act any more, and the store is closed. */
  async close(): Promise<void> {
    this.levels.close();
    await this.placement.close();
    await this.coordinator.close();
  }
}

/** Once for each server. */
function reportForeign(events: PlacementEvents): (event: { member: number }) => void {
  const reported = new Set<number>();
  return ({ member }) => {
    if (!isServer(member) || reported.has(member)) return;
    reported.add(member);
    const { code, message } = foreignState(member);
    events.failed?.({ logId: undefined, server: member, code, reason: message });
  };
}
