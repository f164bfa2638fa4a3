import type { Counters } from '@rdmc/dataplane';
import type { Member, Mesh } from '@rdmc/mesh';
import { Node, type NodeLogger, type NodeOptions, type NodeWith } from '@rdmc/node';
import type { Device, MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { Group } from './group.js';
import type { GroupOptions } from './group-options.js';
import { groups, type ProtocolOptions } from './groups.js';

export type { NodeLogger, NodeOptions };

type GroupsNode = NodeWith<{ readonly groups: ReturnType<typeof groups> }>;

/** A node that runs groups and nothing else: the short form of `Node.join({ …, protocols: { groups: groups() } })`. */
export class RdmcNode {
  private constructor(
    /** The node itself. */
    readonly node: GroupsNode,
  ) {}

  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Nothing is left open then
   */
  static async join({ thread = 'worker', ...options }: NodeOptions & ProtocolOptions): Promise<RdmcNode> {
    return new RdmcNode(await Node.join({ ...options, protocols: { groups: groups({ thread }) } }));
  }

  /** This member's id. */
  get id(): number {
    return this.node.id;
  }

  /** Connections to the other members; open to other uses, under topics of one's own. */
  get mesh(): Mesh {
    return this.node.mesh;
  }

  get members(): readonly Member[] {
    return this.node.members;
  }

  /** The device in use: its kind, limits and counters. */
  get device(): Device {
    return this.node.device;
  }

  get protectionDomain(): ProtectionDomain {
    return this.node.protectionDomain;
  }

  /** Counters of the worker. */
  counters(): Counters {
    return this.node.counters();
  }

  /** As `Groups.allocate`. */
  allocate(byteLength: number, options?: { readonly signal?: AbortSignal }): Promise<MemoryRegion> {
    return this.node.groups.allocate(byteLength, options);
  }

  /** As `Groups.create`. */
  createGroup(options: GroupOptions): Promise<Group> {
    return this.node.groups.create(options);
  }

  /** As `Node.signal`. */
  get signal(): AbortSignal {
    return this.node.signal;
  }

  /** As `Node.closed`. */
  get closed(): Promise<void> {
    return this.node.closed;
  }

  /** Leaves, as `Node.close`. Idempotent. */
  close(): Promise<void> {
    return this.node.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
