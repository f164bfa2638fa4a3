import { tracingChannel } from 'node:diagnostics_channel';
import type { Counters, DataPlane } from '@rdmc/dataplane';
import { joinMember, type MemberOptions } from '@rdmc/member';
import type { Member, Mesh, MeshLogger } from '@rdmc/mesh';
import type { Device, DeviceEventListener, MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import { GroupDirectory } from './directory.js';
import type { GroupEnvironment } from './environment.js';
import { abortedError, GroupError, messageOf } from './errors.js';
import { Group } from './group.js';
import { checkGroupOptions, type GroupOptions } from './group-options.js';
import { GroupSession } from './group-session.js';
import { integerOption, onlyKnownOptions, signalOption } from './options.js';
import { PortState } from './port-state.js';
import { PROTOCOL_NAME } from './records.js';
import { GroupSlots } from './slots.js';
import { WorkerLink } from './worker-link.js';

const createChannel = tracingChannel('@rdmc/group:create');

/** A pino logger fits. */
export type NodeLogger = MeshLogger;

/** What `RdmcNode.join` takes: the options of a mesh, and those of the device and its worker. */
export type NodeOptions = MemberOptions;

/** One member of a cluster: its mesh, its device with the worker that drives it, and its groups. */
export class RdmcNode {
  readonly #slots: GroupSlots;
  readonly #directory: GroupDirectory;
  readonly #link: WorkerLink;
  readonly #sessions = new Set<GroupSession>();
  readonly #allocated = new WeakSet<MemoryRegion>();
  readonly #deviceEvents: DeviceEventListener;
  readonly #port: PortState;
  #closing: Promise<void> | undefined;
  #death: Error | undefined;

  private constructor(
    /** Connections to the other members; open to other uses, under topics of one's own. */
    readonly mesh: Mesh,
    private readonly plane: DataPlane,
    slots: GroupSlots,
    private readonly logger: NodeLogger | undefined,
  ) {
    this.#slots = slots;
    this.#directory = new GroupDirectory(mesh);
    this.#link = new WorkerLink(plane, (error) => {
      this.#death = error;
      for (const session of this.#sessions) session.workerDied(error);
    });
    const { device } = plane;
    this.#port = new PortState(device.choice.port);
    this.#deviceEvents = device.onEvent((event) => {
      this.#port.take(event);
      if (event.type === 'deviceRemoved') for (const session of this.#sessions) session.deviceRemoved();
    });
  }

  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   *
   * @throws MemberError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_DEVICE_MISMATCH; MeshError as `Mesh.join`; VerbsError
   *   ERR_RDMC_UNKNOWN_DEVICE; DataPlaneError as `DataPlane.start`. Nothing is left open then
   */
  static async join(options: NodeOptions): Promise<RdmcNode> {
    const slots = new GroupSlots();
    const protocols = [{ name: PROTOCOL_NAME, module: workerModule(), data: slots.table }];
    const { mesh, plane } = await joinMember('RdmcNode.join', options, protocols);
    return new RdmcNode(mesh, plane, slots, options.logger);
  }

  /** This member's id. */
  get id(): number {
    return this.mesh.id;
  }

  get members(): readonly Member[] {
    return this.mesh.members;
  }

  /** The device in use: its kind, limits and counters. */
  get device(): Device {
    return this.plane.device;
  }

  get protectionDomain(): ProtectionDomain {
    return this.plane.protectionDomain;
  }

  /** Counters of the worker. */
  counters(): Counters {
    return this.plane.counters();
  }

  /**
   * Memory for messages: from the device's pool, faulted in, and usable by `send` and `incoming`. `region.close()`
   * and `message.release()` give it back. A length of 0 gives a region of one byte.
   * @throws GroupError ERR_RDMC_INVALID_OPTION, ERR_RDMC_ABORTED, ERR_RDMC_NODE_CLOSED; VerbsError ERR_RDMC_OUT_OF_MEMORY
   */
  async allocate(
    lengthBytes: number,
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<MemoryRegion> {
    onlyKnownOptions('allocate', options, ['signal']);
    const signal = signalOption('allocate', options.signal);
    integerOption('allocate', 'lengthBytes', lengthBytes, 0, Number.MAX_SAFE_INTEGER);
    this.#assertOpen();
    if (signal?.aborted) throw abortedError('The allocation', signal);
    const region = await this.plane.protectionDomain.allocate(Math.max(1, lengthBytes));
    if (signal?.aborted) {
      await region.close();
      throw abortedError('The allocation', signal);
    }
    this.#allocated.add(region);
    return region;
  }

  /**
   * Creates a group, with all its members: each calls this with the same id and list. Resolves when every member
   * is connected to its neighbours.
   *
   * @throws GroupError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_ALGORITHM,
   *   ERR_RDMC_GROUP_TOO_SMALL, ERR_RDMC_DUPLICATE_MEMBER, ERR_RDMC_UNKNOWN_MEMBER, ERR_RDMC_NOT_A_MEMBER,
   *   ERR_RDMC_GROUP_EXISTS, ERR_RDMC_TOO_MANY_GROUPS, ERR_RDMC_NODE_CLOSED; ERR_RDMC_GROUP_MISMATCH with `field`,
   *   ERR_RDMC_GROUP_TIMEOUT with `missing`, ERR_RDMC_MEMBER_LOST with `memberId`, ERR_RDMC_ABORTED
   */
  async createGroup(options: GroupOptions): Promise<Group> {
    this.#assertOpen();
    const checked = checkGroupOptions(options, this.id, (id) => id === this.id || this.mesh.peers.has(id));
    const session = new GroupSession(this.#environment(), checked, this.#slots.take());
    this.#sessions.add(session);
    session.ended.addEventListener('abort', () => this.#sessions.delete(session), { once: true });
    try {
      await createChannel.tracePromise(() => session.form(), { group: checked.id });
    } catch (error) {
      this.#sessions.delete(session);
      throw error;
    }
    this.logger?.debug?.({ group: checked.id, members: checked.members }, 'group created');
    return new Group(session);
  }

  /**
   * Leaves. Groups that are open fail, here and at the other members; so close them first. Then the worker, the device and
   * the mesh are closed. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.leave()));
    this.#directory.close();
    this.#deviceEvents.close();
    const results = await Promise.allSettled([this.mesh.close(), this.plane.close()]);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) this.logger?.warn?.({ reason: messageOf(failed.reason) }, 'node closed with an error');
  }

  #assertOpen(): void {
    if (this.#closing) {
      throw new GroupError('ERR_RDMC_NODE_CLOSED', `Node ${this.id} is closed; join again`);
    }
    if (!this.#death) return;
    throw new GroupError(
      'ERR_RDMC_DATAPLANE_DIED',
      `The data plane of node ${this.id} died: ${this.#death.message}; close the node and join again`,
      { cause: this.#death },
    );
  }

  #environment(): GroupEnvironment {
    return {
      memberId: this.id,
      mesh: this.mesh,
      directory: this.#directory,
      link: this.#link,
      device: this.plane.device,
      portIsDown: () => this.#port.isDown,
      allocate: (lengthBytes, options) => this.allocate(lengthBytes, options),
      allocated: (region) => this.#allocated.has(region),
    };
  }
}

/** Where the worker's code lies: beside this file when built. */
function workerModule(): URL {
  return new URL('./worker.js', import.meta.url);
}
