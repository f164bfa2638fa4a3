import {
  joinLoopback,
  type LiveNodeOptions,
  type LoopbackNodes,
  Node,
  type NodeOptions,
  type NodeWith,
  type ProtocolOptions,
  ShortForm,
} from '@rdmc/node';
import { hipower, type RequesterOptions, type ResponderOptions } from './channels.js';
import type { Requester } from './requester.js';
import type { Responder } from './responder.js';

/** Options of `HiPowerNode.join`: those of a mesh, and those of the device and its worker. */
export type HiPowerNodeOptions = NodeOptions & ProtocolOptions;
/** The same where members come and go: `join` and `listen` in place of `members`. */
export type LiveHiPowerNodeOptions = LiveNodeOptions & ProtocolOptions;

type ChannelsNode = NodeWith<{ readonly channels: ReturnType<typeof hipower> }>;

/** A node that runs channels only: the short form of `Node.join({ …, protocols: { channels: hipower() } })`. */
export class HiPowerNode extends ShortForm<ChannelsNode> {
  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Everything is closed then
   */
  static async join({
    thread = 'worker',
    ...options
  }: HiPowerNodeOptions | LiveHiPowerNodeOptions): Promise<HiPowerNode> {
    return new HiPowerNode(await Node.join({ ...options, protocols: { channels: hipower({ thread }) } }));
  }

  /**
   * Joins `count` nodes of this process, with ids from 0: for first programs and tests, without a list of members and
   * ports. Resolves with an array of the nodes; its `close()`, and `await using`, closes all. Each node has its own
   * worker thread.
   * @param count 1 to 256
   * @throws as `join`; NodeError ERR_RDMC_INVALID_OPTION for another `count`. Everything is closed then
   */
  static loopback(
    count: number,
    options: Omit<HiPowerNodeOptions, 'id' | 'members' | 'server'> = {},
  ): Promise<LoopbackNodes<HiPowerNode>> {
    const join = (place: object) => HiPowerNode.join({ ...options, ...place } as HiPowerNodeOptions);
    return joinLoopback('HiPowerNode.loopback', count, join, options.signal);
  }

  /** As `Channels.requester`. */
  createRequester(options: RequesterOptions): Promise<Requester> {
    return this.node.channels.requester(options);
  }

  /** As `Channels.responder`. */
  createResponder(options: ResponderOptions): Promise<Responder> {
    return this.node.channels.responder(options);
  }
}
