import { randomBytes } from 'node:crypto';
import { commonLevel } from '@rdmc/common';
import { CONNECTION_ATTEMPTS, MAX_CONNECTIONS_PER_MEMBER } from './constants.js';
import { Dialler } from './dialler.js';
import { AbortError, MeshError, throwIfAborted } from './errors.js';
import { CONNECTION_ID_BYTES, type ConnectionName, type Hello } from './hello.js';
import { isolate } from './isolate.js';
import { closedError } from './join-errors.js';
import type { Introduced, Link } from './link.js';
import { MeshConnection } from './mesh-connection.js';
import type { ResolvedOptions } from './options.js';
import type { Security } from './security.js';

/** Gets each connection that another member opens. */
export type ConnectionListener = (connection: MeshConnection) => void;

export interface ConnectionsOptions {
  readonly options: ResolvedOptions;
  readonly security: Security | undefined;
  /** The HELLO of this member on a connection. */
  readonly hello: (to: number, connection: ConnectionName) => Hello;
  /** The mesh's own link to a peer; throws for one that is lost, has left or is unknown, and after `close`. */
  readonly linkTo: (member: number) => Link;
}

/** The connections beside the mesh's own: those that this member opens, and those that others open. */
export class Connections {
  readonly #context: ConnectionsOptions;
  readonly #open = new Map<number, Set<MeshConnection>>();
  readonly #opening = new Map<Dialler, { readonly to: number; fail(error: Error): void }>();
  readonly #listeners = new Map<string, ConnectionListener>();
  /** Connections of a purpose that has no listener yet. */
  readonly #waiting = new Map<string, MeshConnection[]>();

  constructor(context: ConnectionsOptions) {
    this.#context = context;
  }

  /** Whether a member may open one more. */
  hasRoom(member: number): boolean {
    return (this.#open.get(member)?.size ?? 0) < MAX_CONNECTIONS_PER_MEMBER;
  }

  async open(to: number, purpose: string, signal: AbortSignal | undefined): Promise<MeshConnection> {
    throwIfAborted(describeOpening(to, purpose), signal);
    this.#context.linkTo(to);
    const id = randomBytes(CONNECTION_ID_BYTES).toString('hex');
    const introduced = await this.#dial(to, { purpose, id }, signal);
    try {
      // The member may be lost by now, or another process may have its address.
      if (!introduced.hello.instance.equals(this.#context.linkTo(to).hello.instance))
        throw anotherProcess(to);
    } catch (error) {
      introduced.socket.destroy();
      throw error;
    }
    return this.#add(introduced, id);
  }

  #dial(to: number, name: ConnectionName, signal: AbortSignal | undefined): Promise<Introduced> {
    const { options, security, hello } = this.#context;
    return new Promise<Introduced>((resolve, reject) => {
      const settle = (act: () => void): void => {
        dialler.stop();
        this.#opening.delete(dialler);
        signal?.removeEventListener('abort', onAbort);
        act();
      };
      const fail = (error: Error): void => settle(() => reject(error));
      let attempts = 0;
      const dialler = new Dialler(options.peers.get(to)!, hello(to, name), security, {
        connected: (introduced) => settle(() => resolve(introduced)),
        attemptFailed: (_member, error) => {
          attempts += 1;
          if (attempts >= CONNECTION_ATTEMPTS || error.code !== 'ERR_RDMC_MESH_UNREACHABLE') fail(error);
        },
        refused: (_member, error) => fail(error),
      });
      const onAbort = (): void => fail(new AbortError(describeOpening(to, name.purpose), signal!));
      signal?.addEventListener('abort', onAbort);
      this.#opening.set(dialler, { to, fail });
      dialler.start();
    });
  }

  /** Another member has opened a connection. It waits for a listener of its purpose. */
  accept(introduced: Introduced): void {
    const { purpose, id } = introduced.hello.connection!;
    const connection = this.#add(introduced, id);
    const listener = this.#listeners.get(purpose);
    if (listener !== undefined) {
      isolate(() => listener(connection));
      return;
    }
    const waiting = this.#waiting.get(purpose) ?? [];
    this.#waiting.set(purpose, [...waiting, connection]);
  }

  /** One listener per purpose; connections that came before it are handed over in a microtask. */
  listen(purpose: string, listener: ConnectionListener): () => void {
    if (this.#listeners.has(purpose)) {
      const text = `connections for '${purpose}' have a listener; remove it before another is set`;
      throw new MeshError('ERR_RDMC_MESH_HANDLER_TAKEN', text);
    }
    this.#listeners.set(purpose, listener);
    queueMicrotask(() => this.#handOver(purpose, listener));
    return () => {
      if (this.#listeners.get(purpose) === listener) this.#listeners.delete(purpose);
    };
  }

  /** A member has failed or left: its connections end. */
  endMember(member: number, reason: Error): void {
    for (const connection of this.#open.get(member) ?? []) void connection.close(reason);
    for (const { to, fail } of this.#opening.values()) if (to === member) fail(reason);
  }

  close(): void {
    for (const { fail } of this.#opening.values()) fail(closedError());
    for (const connections of this.#open.values()) {
      for (const connection of connections) void connection.close(closedError());
    }
    this.#listeners.clear();
    this.#waiting.clear();
  }

  #handOver(purpose: string, listener: ConnectionListener): void {
    const waiting = this.#waiting.get(purpose) ?? [];
    if (this.#listeners.get(purpose) !== listener) return;
    this.#waiting.delete(purpose);
    for (const connection of waiting) if (connection.isOpen) isolate(() => listener(connection));
  }

  #add(introduced: Introduced, id: string): MeshConnection {
    // Ends without a common level were refused.
    const level = commonLevel(this.#context.options.levels, introduced.hello.levels)!;
    const connection = new MeshConnection(introduced, id, level);
    const { member } = connection;
    const all = this.#open.get(member) ?? new Set();
    this.#open.set(member, all.add(connection));
    connection.signal.addEventListener('abort', () => this.#remove(connection, introduced));
    return connection;
  }

  #remove(connection: MeshConnection, { hello }: Introduced): void {
    this.#open.get(connection.member)?.delete(connection);
    const purpose = hello.connection?.purpose;
    const waiting = purpose === undefined ? undefined : this.#waiting.get(purpose);
    if (waiting === undefined || !waiting.includes(connection)) return;
    const rest = waiting.filter((each) => each !== connection);
    if (rest.length > 0) this.#waiting.set(purpose!, rest);
    else this.#waiting.delete(purpose!);
  }
}

function describeOpening(to: number, purpose: string): string {
  return `connecting to member ${to} for '${purpose}'`;
}

function anotherProcess(memberId: number): MeshError {
  const text = `another process answers at the address of member ${memberId}`;
  return new MeshError('ERR_RDMC_MESH_MEMBER_LOST', text, { memberId });
}
