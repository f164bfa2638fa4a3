import {
  joinLoopback,
  type LiveNodeOptions,
  type LoopbackNodes,
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

export type { LiveNodeOptions, NodeLogger, NodeOptions };

type GroupsNode = NodeWith<{ readonly groups: ReturnType<typeof groups> }>;

/** A node that runs only groups: the short form of `Node.join({ …, protocols: { groups: groups() } })`. */
export class RdmcNode extends ShortForm<GroupsNode> {
  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Nothing is left open then
   */
  static async join({
    thread = 'worker',
    ...options
  }: (NodeOptions | LiveNodeOptions) & ProtocolOptions): Promise<RdmcNode> {
    return new RdmcNode(await Node.join({ ...options, protocols: { groups: groups({ thread }) } }));
  }

  /**
   * Joins `count` nodes of this process, with ids from 0: for first programs and tests, without a list of members and
   * ports. Resolves with an array of the nodes; its `close()`, and `await using`, closes all. Each node has its own
   * worker thread.
   * @param count 1 to 256
   * @throws as `join`; NodeError ERR_RDMC_INVALID_OPTION for another `count`. Nothing is left open then
   */
  static loopback(
    count: number,
    options: Omit<NodeOptions, 'id' | 'members' | 'server'> & ProtocolOptions = {},
  ): Promise<LoopbackNodes<RdmcNode>> {
    const join = (place: object) => RdmcNode.join({ ...options, ...place } as NodeOptions);
    return joinLoopback('RdmcNode.loopback', count, join, options.signal);
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
