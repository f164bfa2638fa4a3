import {
  Node,
  type NodeLogger,
  type NodeOptions,
  type NodeWith,
  type ProtocolOptions,
  ShortForm,
} from '@rdmc/node';
import type { MemoryRegion } from '@rdmc/verbs';
import type { Group } from './group.js';
import type { GroupOptions } from './group-options.js';
import { groups } from './groups.js';

export type { NodeLogger, NodeOptions };

type GroupsNode = NodeWith<{ readonly groups: ReturnType<typeof groups> }>;

/** A node that runs only groups: the short form of `Node.join({ …, protocols: { groups: groups() } })`. */
export class RdmcNode extends ShortForm<GroupsNode> {
  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Nothing is left open then
   */
  static async join({ thread = 'worker', ...options }: NodeOptions & ProtocolOptions): Promise<RdmcNode> {
    return new RdmcNode(await Node.join({ ...options, protocols: { groups: groups({ thread }) } }));
  }

  /** As `Groups.allocate`. */
  allocate(byteLength: number, options?: { readonly signal?: AbortSignal }): Promise<MemoryRegion> {
    return this.node.groups.allocate(byteLength, options);
  }

  /** As `Groups.create`. */
  createGroup(options: GroupOptions): Promise<Group> {
    return this.node.groups.create(options);
  }
}
