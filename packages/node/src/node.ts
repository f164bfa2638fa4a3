import { Lifetime, type Subscription, Tracer } from '@rdmc/common';
import {
  addCounters,
  type Counters,
  DataPlane,
  type DataPlaneOptions,
  type RecordTable,
} from '@rdmc/dataplane';
import { type Member, type MemberListener, Mesh, type MeshAttributes, type MeshPeer } from '@rdmc/mesh';
import type { Device, ProtectionDomain } from '@rdmc/verbs';
import { NodeError } from './errors.js';
import { InlineProtocol } from './inline-protocol.js';
import { joinLoopback, type LoopbackNodes } from './loopback.js';
import { MemberDevice } from './member-device.js';
import {
  type AnyJoinOptions,
  checkNodeOptions,
  checkPrepareOptions,
  isLive,
  isPrepared,
  type JoinOptions,
  type PrepareOptions,
  signalOption,
} from './node-options.js';
import type { AnyProtocol, ApisOf, NodeApi, NodeContext, NodeLogger, Protocols } from './node-protocol.js';
import { modulesOf, PreparedNode, type Running, runningOf } from './prepared-node.js';
import { agreeOnProtocols, protocolAttributes } from './protocol-agreement.js';
import { together } from './together.js';

const joinTrace = new Tracer<{ readonly id: number; readonly protocols: readonly string[] }>(
  '@rdmc/node:join',
);
const closeTrace = new Tracer<{ readonly id: number }>('@rdmc/node:close');

/** The options of `Node.loopback`: those of `Node.join` without the place of the node in its cluster. */
export type LoopbackOptions<Set extends Protocols> = Omit<JoinOptions<Set>, 'id' | 'members' | 'server'>;

/** A node, with the APIs of its protocols. */
export type NodeWith<Set extends Protocols> = Node & ApisOf<Set>;

/**
 * One member of a cluster: its mesh, its device, and the worker with one completion queue that runs all its protocols
 * (RDMC, DSN 2018, section 4.2). The APIs of the protocols are its properties; their names are the keys of `protocols`.
 */
export class Node {
  readonly #apis: NodeApi[] = [];
  /** Protocols that run in this thread. */
  readonly #inline: InlineProtocol<RecordTable>[] = [];
  readonly #lifetime = new Lifetime();
  #closing: Promise<void> | undefined;

  private constructor(
    /** Connections to the other members. The application may use them, with its own topics. */
    readonly mesh: Mesh,
    private readonly plane: DataPlane,
    private readonly logger: NodeLogger | undefined,
  ) {
    plane.signal.addEventListener('abort', () => this.#lifetime.end(plane.signal.reason), { once: true });
    const replaced = (): void => this.#meshEnded(mesh.signal.reason);
    if (mesh.signal.aborted) replaced();
    else mesh.signal.addEventListener('abort', replaced, { once: true });
  }

  /**
   * Joins the mesh, agrees with the other members on a device and on the protocols, opens the device, and starts the
   * worker, which loads its protocols while the members join. Members may start in any order.
   *
   * With `join` in place of `members`, members come and go: as `Mesh.join`, through any live member. Devices are not
   * negotiated then: the member that introduces this one must have a device of the same kind and the same protocols, else
   * this rejects before any other member knows of it. Protocols see each connection of a peer as another peer.
   *
   * With `prepared` in place of `protocols`, the node takes the worker that `prepare` has started.
   *
   * @throws NodeError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_DUPLICATE_PROTOCOL; with `memberId`
   *   ERR_RDMC_DEVICE_MISMATCH, ERR_RDMC_PROTOCOL_MISMATCH; MeshError as `Mesh.join`; VerbsError
   *   ERR_RDMC_UNKNOWN_DEVICE; DataPlaneError as `DataPlane.open`; the errors of a protocol's `application`. Nothing is
   *   left open then
   */
  static async join<const Set extends Protocols>(options: AnyJoinOptions<Set>): Promise<NodeWith<Set>> {
    checkNodeOptions('Node.join', options, isTaken);
    const { protocols } = isPrepared(options) ? options.prepared : options;
    return joinTrace.promise(
      () => ({ id: options.id, protocols: Object.values(protocols).map(({ name }) => name) }),
      () => Node.#join(options),
    );
  }

  /**
   * Starts the worker of a later node, which loads its protocols and waits for `Node.join({ prepared })`. Joining takes less
   * time then.
   * @throws NodeError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_DUPLICATE_PROTOCOL; DataPlaneError
   *   ERR_RDMC_INVALID_OPTION
   */
  static prepare<const Set extends Protocols>(options: PrepareOptions<Set>): PreparedNode<Set> {
    checkPrepareOptions('Node.prepare', options, isTaken);
    return new PreparedNode(options.protocols, options.windowMs);
  }

  static async #join<const Set extends Protocols>(options: AnyJoinOptions<Set>): Promise<NodeWith<Set>> {
    const running = isPrepared(options) ? options.prepared.running : runningOf(options.protocols);
    const { mesh, plane } = await gather(options, running);
    const node = new Node(mesh, plane, options.logger);
    try {
      for (const each of running) await node.#begin(each);
      node.signal.throwIfAborted();
    } catch (error) {
      // A node that has ended meanwhile says why.
      const reason = node.signal.aborted ? node.signal.reason : error;
      await node.close();
      throw reason;
    }
    const { choice } = plane.device;
    options.logger?.info?.({ id: mesh.id, device: choice.device, reason: choice.reason }, 'member joined');
    return node as NodeWith<Set>;
  }

  /**
   * Joins `count` nodes of this process, with ids from 0, over free ports of 127.0.0.1: for first programs, tests and
   * benchmarks. Resolves with an array of the nodes, in the order of their ids; its `close()`, and `await using`, closes
   * all. Each node has its own worker thread.
   * @param count 1 to 256
   * @throws as `join`; NodeError ERR_RDMC_INVALID_OPTION for another `count`. Nothing is left open then
   */
  static loopback<const Set extends Protocols>(
    count: number,
    options: LoopbackOptions<Set>,
  ): Promise<LoopbackNodes<NodeWith<Set>>> {
    const join = (place: object) => Node.join({ ...options, ...place } as JoinOptions<Set>);
    return joinLoopback('Node.loopback', count, join, options.signal);
  }

  /** This member's id. */
  get id(): number {
    return this.mesh.id;
  }

  /** All members of the cluster, this one included: as given to `members`, or, with `join`, those of now. */
  get members(): readonly Member[] {
    return this.mesh.members;
  }

  /** Tells successive processes of this id apart; 0 with a fixed list of members. */
  get incarnation(): number {
    return this.mesh.incarnation;
  }

  /**
   * Calls the listener with `joined`, `lost` and `left` of each other member, in order, as `Mesh.onMember`: first, in a
   * microtask, with `joined` of those that are connected. When it is called with `lost` or `left`, what the protocols had
   * open with that process has failed, or fails without waiting for it.
   */
  onMember(listener: MemberListener): Subscription {
    return this.mesh.onMember(listener);
  }

  /** The device in use: its kind, limits and counters. */
  get device(): Device {
    return this.plane.device;
  }

  /** The protection domain of the data plane: allocate memory for all protocols in it. */
  get protectionDomain(): ProtectionDomain {
    return this.plane.protectionDomain;
  }

  /** Sums of the counters of the worker and of the protocols that run in the application's thread. */
  counters(): Counters {
    return addCounters(this.plane.counters(), ...this.#inline.map((side) => side.counters()));
  }

  /**
   * Aborted at the end of the node: when its worker dies, with its error (`code` ERR_RDMC_DATAPLANE_DIED), when
   * it closes (ERR_RDMC_NODE_CLOSED), or, with `join`, when its id belongs to another process (ERR_RDMC_REPLACED) or it was
   * removed (ERR_RDMC_MESH_EVICTED): then it closes itself.
   */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when the worker, the device and the mesh of the node are closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  /** The node keeps the process alive until it is closed. This is the default. */
  ref(): void {
    this.mesh.ref();
  }

  /**
   * The process may end while the node is open: the other members then see it fail. Unanswered calls keep the process
   * alive.
   */
  unref(): void {
    this.mesh.unref();
  }

  /**
   * Leaves the cluster. Closes the protocols first, then the worker, the device and the mesh. For an orderly end, close
   * groups, channels and logs before. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= closeTrace.promise(
      () => ({ id: this.id }),
      () => this.#close(),
    );
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begin({ key, protocol, data }: Running): Promise<void> {
    const { mesh, plane, logger } = this;
    const { name, records } = protocol;
    const side = await this.#sideOf(protocol, data);
    const context: NodeContext<typeof records> = {
      name,
      id: mesh.id,
      mesh,
      plane,
      data,
      logger,
      connect: (events, onEnd) =>
        side ? side.connect(events, onEnd) : plane.connect(name, records, events, onEnd),
    };
    const api: object = await protocol.application(context);
    this.#apis.push(api);
    Object.defineProperty(this, key, { value: api, enumerable: true });
  }

  /** The protocol's worker side, if it runs in this thread. */
  async #sideOf(
    { name, worker }: AnyProtocol,
    data: unknown,
  ): Promise<InlineProtocol<RecordTable> | undefined> {
    if (worker instanceof URL) return undefined;
    const side = await InlineProtocol.open<RecordTable>(this.plane, name, worker, data);
    this.#inline.push(side);
    return side;
  }

  /** By its `close`, or because this process is not a member any more. */
  #meshEnded(reason: unknown): void {
    if (this.#closing !== undefined) return;
    this.#lifetime.end(reason);
    void this.close();
  }

  async #close(): Promise<void> {
    this.#lifetime.end(new NodeError('ERR_RDMC_NODE_CLOSED', `Node ${this.id} is closed; join again`));
    const ended = await Promise.allSettled(this.#apis.map(async (api) => api.close?.()));
    const stopped = await Promise.allSettled(this.#inline.map((side) => side.close()));
    const left = await Promise.allSettled([this.mesh.close(), this.plane.close()]);
    for (const result of [...ended, ...stopped, ...left]) {
      if (result.status === 'fulfilled') continue;
      const reason = result.reason instanceof Error ? result.reason.message : String(result.reason);
      this.logger?.warn?.({ reason }, 'node closed with an error');
    }
    this.#lifetime.free();
  }
}

/** Whether every node has a property of that name. */
function isTaken(name: string): boolean {
  return name in Node.prototype || name === 'mesh';
}

/** Joins the mesh, and starts the data plane meanwhile. */
function gather(
  options: AnyJoinOptions<Protocols>,
  running: readonly Running[],
): Promise<{ mesh: Mesh; plane: DataPlane }> {
  const { device, signal: wish, attributes } = options;
  const signal = signalOption('Node.join', wish);
  const own = MemberDevice.choose(device, isLive(options));
  const protocols = running.map(({ protocol }) => protocol);
  return together(signal, (ended) => {
    const announced = { ...attributes, ...own.attributes, ...protocolAttributes(protocols) };
    const examine = (introducer: Introducer): void => {
      agreeOnProtocols(options.id, protocols, [introducer]);
      own.compare(options.id, introducer);
    };
    const mesh = joinMesh(options, { attributes: announced, signal: ended }, examine);
    const agreed = mesh.then((joined) => {
      agreeOnProtocols(joined.id, protocols, joined.peers.values());
      return own.agree(joined);
    });
    agreed.catch(() => {}); // not awaited if the plane refuses its options
    return { mesh, plane: openPlane(options, running, { device: agreed, signal: ended }) };
  });
}

function openPlane(
  options: AnyJoinOptions<Protocols>,
  running: readonly Running[],
  own: Pick<DataPlaneOptions, 'device' | 'signal'>,
): Promise<DataPlane> {
  const { logger } = options;
  const common = { ...own, ...(logger && { logger }) };
  if (isPrepared(options)) return DataPlane.open({ ...common, prepared: options.prepared.worker });
  const { windowMs, trace, id } = options;
  return DataPlane.open({
    ...common,
    protocols: modulesOf(running),
    ...(windowMs !== undefined && { windowMs }),
    ...(trace && { trace: { file: trace, member: id } }),
  });
}

type Introducer = Pick<MeshPeer, 'id' | 'attributes'>;

function joinMesh(
  options: AnyJoinOptions<Protocols>,
  own: { readonly attributes: MeshAttributes; readonly signal: AbortSignal },
  examine: (introducer: Introducer) => void,
): Promise<Mesh> {
  if (isLive(options)) {
    const { device: _d, windowMs: _w, protocols: _p, prepared: _r, trace: _t, ...rest } = loose(options);
    return Mesh.join({ ...rest, ...own, examine });
  }
  const {
    device: _d,
    windowMs: _w,
    protocols: _p,
    prepared: _r,
    trace: _t,
    ...rest
  } = loose(options as JoinOptions<Protocols>);
  return Mesh.join({ ...rest, ...own });
}

/** The same options; `prepared` stands in place of other names. */
function loose<T extends object>(options: T): T & { readonly prepared?: unknown } {
  return options as T & { readonly prepared?: unknown };
}
