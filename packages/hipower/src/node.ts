import { tracingChannel } from 'node:diagnostics_channel';
import type { Counters, DataPlane, ProtocolModule } from '@rdmc/dataplane';
import { joinMember, type MemberOptions } from '@rdmc/member';
import type { Mesh } from '@rdmc/mesh';
import type { Device } from '@rdmc/verbs';
import {
  type ChannelOptions,
  type CheckedChannelOptions,
  checkChannelOptions,
  type NodeFacts,
} from './channel-options.js';
import { Directory } from './directory.js';
import type { Environment } from './environment.js';
import { HiPowerError } from './errors.js';
import { PROTOCOL_NAME } from './records.js';
import { Requester } from './requester.js';
import { Responder } from './responder.js';
import { WorkerLink } from './worker-link.js';

const createChannel = tracingChannel('@rdmc/hipower:create');

/** What `HiPowerNode.join` takes: the options of a mesh, and those of the device and its worker. */
export type HiPowerNodeOptions = MemberOptions;

export interface RequesterOptions extends ChannelOptions {
  /** The responder; or several, for a broadcast. */
  readonly to: number | readonly number[];
}

export interface ResponderOptions extends ChannelOptions {
  /** The requester; or several, to gather. */
  readonly from: number | readonly number[];
}

/** The protocol, for a data plane of one's own: `DataPlane.start({ protocols: [hiPowerProtocol()] })`. */
export function hiPowerProtocol(): ProtocolModule {
  return { name: PROTOCOL_NAME, module: new URL('./worker.js', import.meta.url) };
}

/** One member: its mesh, its device with the worker that drives it, and its channels. */
export class HiPowerNode {
  readonly #environment: Environment;
  readonly #ends = new Set<Requester | Responder>();
  /** Creations under way. */
  readonly #opening = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  private constructor(
    /** Connections to the other members; open to other uses, under topics of one's own. */
    readonly mesh: Mesh,
    private readonly plane: DataPlane,
    /** Mesh and data plane are this node's own, and close with it. */
    private readonly isOwner: boolean,
  ) {
    this.#environment = {
      mesh,
      directory: Directory.of(mesh),
      link: WorkerLink.of(plane),
      protectionDomain: plane.protectionDomain,
    };
  }

  /**
   * Joins the mesh, agrees on a device, opens it and starts the worker. Members may start in any order.
   * @throws MemberError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_DEVICE_MISMATCH; MeshError as `Mesh.join`; VerbsError
   *   ERR_RDMC_UNKNOWN_DEVICE; DataPlaneError as `DataPlane.start`. Nothing is left open then
   */
  static async join(options: HiPowerNodeOptions): Promise<HiPowerNode> {
    const { mesh, plane } = await joinMember('HiPowerNode.join', options, [hiPowerProtocol()]);
    return new HiPowerNode(mesh, plane, true);
  }

  /** Channels over a mesh and a data plane that exist, and stay open when the node closes. The plane must run `hiPowerProtocol()`. */
  static attach(mesh: Mesh, plane: DataPlane): HiPowerNode {
    return new HiPowerNode(mesh, plane, false);
  }

  /** This member's id. */
  get id(): number {
    return this.mesh.id;
  }

  get device(): Device {
    return this.plane.device;
  }

  /** Counters of the worker. */
  counters(): Counters {
    return this.plane.counters();
  }

  /**
   * Makes the sending end of a channel; each responder makes the other. Resolves when all are connected.
   * @throws HiPowerError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_MEMBER,
   *   ERR_RDMC_HIPOWER_CHANNEL_EXISTS, ERR_RDMC_HIPOWER_NODE_CLOSED; ERR_RDMC_HIPOWER_TIMEOUT with `missing`,
   *   ERR_RDMC_HIPOWER_MISMATCH with `field`, ERR_RDMC_HIPOWER_PEER_LOST with `memberId`, ERR_RDMC_ABORTED
   */
  createRequester(options: RequesterOptions): Promise<Requester> {
    return this.#create('requester', 'to', options, (checked) =>
      Requester.open(this.#environment, checked, this.#forget),
    );
  }

  /** Makes the receiving end of a channel; each requester makes the other. Resolves when all are connected. @throws as `createRequester` */
  createResponder(options: ResponderOptions): Promise<Responder> {
    return this.#create('responder', 'from', options, (checked) =>
      Responder.open(this.#environment, checked, this.#forget),
    );
  }

  /** Closes all channels, then leaves. Channels that have not ended fail at their peers, so end them first. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await Promise.allSettled(this.#opening);
    await Promise.all([...this.#ends].map((end) => end.close()));
    this.#environment.directory.close();
    if (this.isOwner) await Promise.allSettled([this.mesh.close(), this.plane.close()]);
  }

  /** What is under way when the node closes ends with it. */
  async #create<End extends Requester | Responder>(
    role: 'requester' | 'responder',
    peersName: 'to' | 'from',
    options: ChannelOptions,
    open: (checked: CheckedChannelOptions) => Promise<End>,
  ): Promise<End> {
    this.#assertOpen();
    const checked = checkChannelOptions(
      role === 'requester' ? 'createRequester' : 'createResponder',
      peersName,
      options,
      this.#facts(),
    );
    const { channel } = checked;
    const signal = checked.signal
      ? AbortSignal.any([checked.signal, this.#closed.signal])
      : this.#closed.signal;
    const opening = createChannel.tracePromise(() => open({ ...checked, signal }), { role, channel });
    this.#opening.add(opening);
    try {
      const end = await opening;
      this.#ends.add(end);
      return end;
    } catch (error) {
      this.#assertOpen(error);
      throw error;
    } finally {
      this.#opening.delete(opening);
    }
  }

  readonly #forget = (end: Requester | Responder): void => void this.#ends.delete(end);

  #facts(): NodeFacts {
    return {
      id: this.id,
      isMember: (id) => this.mesh.peers.has(id),
      maxReceiveDepth: this.device.attributes.maxReceiveDepth,
      // Promised by the soft device over either transport; of others it is not assumed.
      ordersWrites: this.device.kind === 'soft',
    };
  }

  #assertOpen(cause?: unknown): void {
    if (!this.#closing) return;
    throw new HiPowerError('ERR_RDMC_HIPOWER_NODE_CLOSED', `Node ${this.id} is closed; join again`, {
      cause,
    });
  }
}
