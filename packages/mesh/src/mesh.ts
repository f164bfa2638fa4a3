import { tracingChannel } from 'node:diagnostics_channel';
import { Lifetime, type Subscription, subscription } from '@rdmc/common';
import type { ConnectionListener } from './connections.js';
import { MAX_PURPOSE_BYTES } from './constants.js';
import { Core, type Internals } from './core.js';
import { invalidArgument } from './errors.js';
import { clipText, type MeshFailure } from './frames.js';
import { isPurpose } from './hello.js';
import { closedError } from './join-errors.js';
import type { Member } from './member.js';
import type { MeshConnection } from './mesh-connection.js';
import type { MessageListener, RequestHandler } from './messaging.js';
import { onlyKnownOptions, signalOption } from './option-checks.js';
import { type MeshAttributes, type MeshOptions, resolveOptions } from './options.js';
import type { RequestOptions } from './requests.js';

const joinChannel = tracingChannel('@rdmc/mesh:join');

/** Another member, as this member knows it. */
export interface MeshPeer {
  /** Id of the member. */
  readonly id: number;
  /** Announced by the member when it joined. */
  readonly attributes: MeshAttributes;
  /** Its address in the list. */
  readonly address: { readonly host: string; readonly port: number };
  /** Its current state. */
  readonly state: 'connected' | 'left' | 'failed';
}

/**
 * A full mesh: every pair of members keeps one TCP connection, used to exchange addresses and
 * keys before data can flow, and to tell of failures (RDMC, DSN 2018, section 2). Membership is
 * fixed; a mesh of survivors is a new mesh.
 *
 * All methods run in the caller's thread. Listeners are called in the order of arrival; an
 * error of a listener becomes an uncaught exception.
 */
export class Mesh {
  /** Id of this member. */
  readonly id: number;
  /** All members, this one included, sorted by id. */
  readonly members: readonly Member[];
  /** All other members by id, those that failed or left included. */
  readonly peers: ReadonlyMap<number, MeshPeer>;
  readonly #core: Core;
  readonly #lifetime = new Lifetime();
  #closing: Promise<void> | undefined;

  /** @internal Use {@link Mesh.join}. */
  constructor(core: Core) {
    this.#core = core;
    this.id = core.options.id;
    this.members = core.options.members;
    this.peers = describePeers(core);
  }

  /**
   * Listens at this member's address, connects to every other member, and resolves when every
   * member is connected to every other one. Members may start in any order.
   *
   * Rejects with ERR_RDMC_MESH_TIMEOUT, naming the missing members and the last error of each;
   * with ERR_RDMC_MESH_VERSION, ERR_RDMC_MESH_MEMBERS_DIFFER, ERR_RDMC_MESH_DUPLICATE_MEMBER or
   * ERR_RDMC_MESH_WRONG_KEY as soon as one occurs; with ERR_RDMC_MESH_MEMBER_LOST when a member
   * is lost in the last step. After a rejection no resource is left open.
   */
  static join(options: MeshOptions): Promise<Mesh> {
    return joinMesh(options, {});
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
   * Declares another member failed, for example after an error of a queue pair. All members are told, the member
   * itself too; its connections are closed. For a member that has failed or left, the call has no effect.
   */
  reportFailure(member: number, reason: string): void {
    this.#core.assertOpen();
    if (!this.peers.has(member))
      throw invalidArgument(`member ${String(member)} is not another member of this mesh`);
    if (typeof reason !== 'string' || reason.length === 0)
      throw invalidArgument('reason: needed a non-empty text');
    const code = 'ERR_RDMC_MESH_MEMBER_REPORTED';
    this.#core.fail({ member, reason: clipText(reason), code, reporter: this.id });
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

  /** Aborted when this member leaves: then it cannot send any more. */
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
export async function joinMesh(options: MeshOptions, internals: Internals): Promise<Mesh> {
  const resolved = resolveOptions(options);
  const context = { id: resolved.id, members: resolved.members.length };
  return joinChannel.tracePromise(async () => {
    const core = new Core(resolved, internals);
    await core.form();
    return new Mesh(core);
  }, context);
}

function checkPurpose(purpose: unknown): string {
  if (isPurpose(purpose)) return purpose;
  throw invalidArgument(`purpose: needed text of 1 to ${MAX_PURPOSE_BYTES} bytes`);
}

function describePeers(core: Core): ReadonlyMap<number, MeshPeer> {
  const peers = new Map<number, MeshPeer>();
  for (const { id, host, port } of core.options.peers.values()) {
    peers.set(id, {
      id,
      attributes: core.attributesOf(id),
      address: Object.freeze({ host, port }),
      get state() {
        if (core.failures.facts.has(id)) return 'failed';
        return core.leaves.facts.has(id) ? 'left' : 'connected';
      },
    });
  }
  return peers;
}
