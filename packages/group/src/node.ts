import {
  joinLoopback,
  type LiveNodeOptions,
  type LoopbackNodes,
  Node,
  type NodeLogger,
  type NodeOptions,
  type NodeWith,
  type PreparedJoinOptions,
  type PreparedNode,
  type ProtocolOptions,
  type Protocols,
  ShortForm,
} from '@rdmc/node';
import type { MemoryRegion } from '@rdmc/verbs';
import type { Group } from './group.js';
import type { GroupOptions } from './group-options.js';
import { groups } from './groups.js';

export type { LiveNodeOptions, NodeLogger, NodeOptions };

interface GroupsAlone extends Protocols {
  readonly groups: ReturnType<typeof groups>;
}

type GroupsNode = NodeWith<GroupsAlone>;

/** The worker of a later `RdmcNode`. */
export type PreparedRdmcNode = PreparedNode<GroupsAlone>;

/** A node that runs only groups: the short form of `Node.join({ …, protocols: { groups: groups() } })`. */
export class RdmcNode extends ShortForm<GroupsNode> {
  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Nothing is left open then
   */
  static async join(
    options: ((NodeOptions | LiveNodeOptions) & ProtocolOptions) | PreparedJoinOptions<GroupsAlone>,
  ): Promise<RdmcNode> {
    if ('prepared' in options) return new RdmcNode(await Node.join(options));
    const { thread = 'worker', ...rest } = options;
    return new RdmcNode(await Node.join({ ...rest, protocols: { groups: groups({ thread }) } }));
  }

  /** Starts the worker of a later node ahead: `RdmcNode.join({ …, prepared })`. As `Node.prepare` of @rdmc/node. */
  static prepare(options: Pick<NodeOptions, 'windowMs'> = {}): PreparedRdmcNode {
    return Node.prepare({ ...options, protocols: { groups: groups() } });
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
