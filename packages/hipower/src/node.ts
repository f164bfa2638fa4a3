import type { Counters } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import { Node, type NodeOptions, type NodeWith } from '@rdmc/node';
import type { Device } from '@rdmc/verbs';
import { hipower, type ProtocolOptions, type RequesterOptions, type ResponderOptions } from './channels.js';
import type { Requester } from './requester.js';
import type { Responder } from './responder.js';

/** What `HiPowerNode.join` takes: the options of a mesh, and those of the device and its worker. */
export type HiPowerNodeOptions = NodeOptions & ProtocolOptions;

type ChannelsNode = NodeWith<{ readonly channels: ReturnType<typeof hipower> }>;

/** A node that runs channels and nothing else: the short form of `Node.join({ …, protocols: { channels: hipower() } })`. */
export class HiPowerNode {
  private constructor(
    /** The node itself. */
    readonly node: ChannelsNode,
  ) {}

  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws as `Node.join` of @rdmc/node. Nothing is left open then
   */
  static async join({ thread = 'worker', ...options }: HiPowerNodeOptions): Promise<HiPowerNode> {
    return new HiPowerNode(await Node.join({ ...options, protocols: { channels: hipower({ thread }) } }));
  }

  /** This member's id. */
  get id(): number {
    return this.node.id;
  }

  /** Connections to the other members; open to other uses, under topics of one's own. */
  get mesh(): Mesh {
    return this.node.mesh;
  }

  get device(): Device {
    return this.node.device;
  }

  /** Counters of the worker. */
  counters(): Counters {
    return this.node.counters();
  }

  /** As `Channels.requester`. */
  createRequester(options: RequesterOptions): Promise<Requester> {
    return this.node.channels.requester(options);
  }

  /** As `Channels.responder`. */
  createResponder(options: ResponderOptions): Promise<Responder> {
    return this.node.channels.responder(options);
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
