import { Lifetime, type Subscription, subscription, Tracer } from '@rdmc/common';
import type { ConnectionListener } from './connections.js';
import { MAX_PURPOSE_BYTES } from './constants.js';
import { Core, type Internals as StaticInternals } from './core.js';
import { invalidArgument, invalidOption } from './errors.js';
import type { MeshFailure } from './frames.js';
import { isPurpose } from './hello.js';
import { closedError } from './join-errors.js';
import { LiveCore, type LiveInternals } from './live/live-core.js';
import type { MemberListener } from './live/member-events.js';
import type { Member } from './member.js';
import type { MeshConnection } from './mesh-connection.js';
import type { MeshCore, MeshPeer } from './mesh-core.js';
import type { MessageListener, RequestHandler } from './messaging.js';
import { onlyKnownOptions, signalOption } from './option-checks.js';
import { type LiveMeshOptions, type MeshOptions, resolveLiveOptions, resolveOptions } from './options.js';
import type { RequestOptions } from './requests.js';

/** Parts that tests replace or observe. */
export type Internals = StaticInternals & LiveInternals;

const joinTrace = new Tracer<{ readonly id: number; readonly members: number }>('@rdmc/mesh:join');

/**
 * A full mesh: every pair of members keeps one TCP connection, used to exchange addresses and
 * keys before data can flow, and to tell of failures (RDMC, DSN 2018, section 2). The list of members is
 * fixed (`members`; a mesh of survivors is a new mesh), or members come and go (`join`).
 *
 * All methods run in the caller's thread. Listeners are called in the order of arrival; an
 * error of a listener becomes an uncaught exception.
 */
export class Mesh {
  /** Id of this member. */
  readonly id: number;
  readonly #core: MeshCore;
  readonly #lifetime = new Lifetime();
  #closing: Promise<void> | undefined;

  /** @internal Use {@link Mesh.join}. */
  constructor(core: MeshCore) {
    this.#core = core;
    this.id = core.options.id;
    core.onEnd = (error) => {
      this.#lifetime.end(error);
      void this.close();
    };
    if (core.stopped !== undefined) core.onEnd(core.stopped);
  }

  /**
   * Listens at this member's address, connects to every other member, and resolves when every
   * member is connected to every other one. Members may start in any order.
   *
   * Rejects with ERR_RDMC_MESH_TIMEOUT, naming the missing members and the last error of each;
   * with ERR_RDMC_MESH_VERSION, ERR_RDMC_MESH_MEMBERS_DIFFER, ERR_RDMC_MESH_DUPLICATE_MEMBER or
   * ERR_RDMC_MESH_WRONG_KEY as soon as one occurs; with ERR_RDMC_MESH_MEMBER_LOST when a member
   * is lost in the last step. After a rejection no resource is left open.
   *
   * With `join` in place of `members`, it joins through any live member, and resolves when it is connected to all members
   * that answer. It rejects with ERR_RDMC_ID_IN_USE where another process has the id, and with
   * ERR_RDMC_MESH_OTHER_CLUSTER, ..._VERSION, ..._WRONG_KEY or ..._MEMBERS_DIFFER where the mesh is another one.
   */
  static join(options: MeshOptions | LiveMeshOptions): Promise<Mesh> {
    return joinMesh(options, {});
  }

  /** All members, this one included, sorted by id; with `join`, those of now. */
  get members(): readonly Member[] {
    return this.#core.members;
  }

  /** All other members by id; those that failed as well, and with a fixed list those that left. */
  get peers(): ReadonlyMap<number, MeshPeer> {
    return this.#core.peers;
  }

  /** Tells successive processes of this id apart; 0 with a fixed list of members. */
  get incarnation(): number {
    return this.#core.incarnation;
  }

  /** Members known to have failed. */
  get failed(): ReadonlyMap<number, MeshFailure> {
    return this.#core.failures.facts;
  }

  /**
   * 32 bytes derived from the cluster key for one purpose; equal on all members for equal labels.
   * Undefined without a key.
   */
  secret(label: string): Buffer | undefined {
    if (typeof label !== 'string' || label.length === 0)
      throw invalidArgument('label: needed a non-empty text');
    return this.#core.options.key?.secret(label);
  }

  /**
   * Sends a JSON value or a `Uint8Array` to one member; to this one too, which gets a copy later. Bytes arrive as a
   * `Uint8Array`; they are copied before this returns. Messages from one member to another arrive in order. Returning means
   * queued: a member may still be lost before it arrives.
   *
   * Throws ERR_RDMC_MESH_MEMBER_LOST, ..._MEMBER_LEFT, ..._BACKPRESSURE, ..._FRAME_TOO_LARGE,
   * ..._INVALID_BODY or ..._CLOSED; then nothing was sent.
   */
  send(to: number, topic: string, body: unknown): void {
    this.#core.messaging.send(to, topic, body);
  }

  /** Sends to every other member that neither failed nor left; throws like `send`; then no member gets it. */
  broadcast(topic: string, body: unknown): void {
    this.#core.messaging.broadcast(topic, body);
  }

  /**
   * Subscribes to a topic. Messages wait for the first subscriber: 1024 per topic and peer, 16 MiB per
   * peer. A peer that sends more than that has failed with ERR_RDMC_MESH_UNREAD_OVERFLOW.
   */
  onMessage(topic: string, listener: MessageListener): Subscription {
    return subscription(this.#core.messaging.onMessage(topic, listener));
  }

  /**
   * Asks a member (this one too) and resolves with its answer; both are JSON values or bytes, as with
   * `send`. An error of its handler arrives as MeshRemoteError with that error's code and message.
   */
  request(to: number, topic: string, body: unknown, options: RequestOptions = {}): Promise<unknown> {
    return this.#core.messaging.request(to, topic, body, options);
  }

  /** Sets the handler of a topic's requests; its (awaited) result is the answer. One per topic. */
  onRequest(topic: string, handler: RequestHandler): Subscription {
    return subscription(this.#core.messaging.onRequest(topic, handler));
  }

  /** Calls the listener once for each failure, also for the known ones (in a microtask). */
  onFailure(listener: (failure: MeshFailure) => void): Subscription {
    return subscription(this.#core.failures.subscribe(listener));
  }

  /** Calls the listener once for each member that closes its mesh, also for those that have. */
  onLeave(listener: (member: number) => void): Subscription {
    return subscription(this.#core.leaves.subscribe(listener));
  }

  /**
   * Calls the listener with `joined`, `lost` and `left` of each peer, in order: one connection of a peer has ended before
   * the next one is reported. First, in a microtask, with `joined` of the peers that are connected.
   */
  onMember(listener: MemberListener): Subscription {
    return subscription(this.#core.events.subscribe(listener));
  }

  /**
   * Removes a member that was lost or is to go: no member reaches for it any more. A process of it that still runs stops
   * with ERR_RDMC_MESH_EVICTED, and may join again. Only with `join`.
   */
  remove(member: number): void {
    this.#core.assertOpen();
    if (!this.peers.has(member))
      throw invalidArgument(`member ${String(member)} is not another member of this mesh`);
    this.#core.remove(member);
  }

  /**
   * Declares another member failed, for example after an error of a queue pair. All members are told, the member
   * itself too; its connections are closed. For a member that has failed or left, the call has no effect.
   *
   * With `join`, only this member's connection with it is closed; it is lost here until it is connected again.
   */
  reportFailure(member: number, reason: string): void {
    this.#core.assertOpen();
    if (!this.peers.has(member))
      throw invalidArgument(`member ${String(member)} is not another member of this mesh`);
    if (typeof reason !== 'string' || reason.length === 0)
      throw invalidArgument('reason: needed a non-empty text');
    this.#core.reportFailure(member, reason);
  }

  /**
   * Opens a connection with another member beside the mesh's own, for data that must not delay the mesh's frames. It has
   * the same address, key and greeting. The other member takes it with `onConnection`; until then it waits
   * there. It ends when a member is lost or closes its mesh. Its end does not make a member lost.
   *
   * Rejects with ERR_RDMC_MESH_UNREACHABLE after three attempts, ..._TOO_MANY_CONNECTIONS (64 from one member to another),
   * ..._MEMBER_LOST, ..._MEMBER_LEFT, ..._CLOSED, ..._INVALID_ARGUMENT, or AbortError.
   */
  async openConnection(
    to: number,
    purpose: string,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<MeshConnection> {
    onlyKnownOptions('openConnection', options, ['signal']);
    this.#core.assertOpen();
    return this.#core.connections.open(
      to,
      checkPurpose(purpose),
      signalOption('openConnection', options.signal),
    );
  }

  /** Takes each connection that others open for a purpose; one listener per purpose. */
  onConnection(purpose: string, listener: ConnectionListener): Subscription {
    this.#core.assertOpen();
    if (typeof listener !== 'function') throw invalidArgument('listener: needed a function');
    return subscription(this.#core.connections.listen(checkPurpose(purpose), listener));
  }

  /** Bytes queued for a member and not yet taken by the system. Throws like `send`. */
  bufferedBytes(to: number): number {
    return this.#core.messaging.bufferedBytes(to);
  }

  /**
   * Leaves: queued messages are sent, then `onLeave` is called at the peers, and not `onFailure`. Waits
   * at most two seconds for peers that do not read. Pending requests reject with
   * ERR_RDMC_MESH_CLOSED. May be called again.
   */
  close(): Promise<void> {
    this.#lifetime.end(closedError());
    this.#closing ??= this.#core.close().finally(() => this.#lifetime.free());
    return this.#closing;
  }

  /** The mesh keeps the process alive until it is closed, as it does at first. */
  ref(): void {
    this.#core.ref();
  }

  /** The process may end while this member belongs to the mesh: the others then see it fail. */
  unref(): void {
    this.#core.unref();
  }

  /** Aborted when this member leaves, or has to stop (ERR_RDMC_REPLACED, ERR_RDMC_MESH_EVICTED): then it cannot send any more. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when this member has left and all connections are closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** `Mesh.join` with parts that tests replace. */
export async function joinMesh(options: MeshOptions | LiveMeshOptions, internals: Internals): Promise<Mesh> {
  const [core, members] = makeCore(options, internals);
  return joinTrace.promise(
    () => ({ id: core.options.id, members }),
    async () => {
      await core.form();
      return new Mesh(core);
    },
  );
}

/** The second part is the number of members that are known before joining. */
function makeCore(options: MeshOptions | LiveMeshOptions, internals: Internals): [MeshCore, number] {
  if (typeof options === 'object' && options !== null && 'join' in options) {
    if ('members' in options) throw invalidOption('Mesh.join: members and join are given; omit one of them');
    const resolved = resolveLiveOptions(options, internals.levels);
    return [new LiveCore(resolved, internals), resolved.contacts.length];
  }
  const resolved = resolveOptions(options, internals.levels);
  return [new Core(resolved, internals), resolved.members.length];
}

function checkPurpose(purpose: unknown): string {
  if (isPurpose(purpose)) return purpose;
  throw invalidArgument(`purpose: needed text of 1 to ${MAX_PURPOSE_BYTES} bytes`);
}
