import { Dialler } from './dialler.js';
import { codeOf, type MeshError, messageOf } from './errors.js';
import type { Hello } from './hello.js';
import { checkHello } from './hello-check.js';
import { type DroppedConnection, joinTimeout } from './join-errors.js';
import type { Introduced, Link } from './link.js';
import { Listener, type ListenerEvents } from './listener.js';
import type { ResolvedOptions } from './options.js';
import type { Security } from './security.js';

/** The parts of the mesh that the connector uses. */
export interface ConnectorContext {
  readonly links: ReadonlyMap<number, Link>;
  /** Whether members can still be connected. */
  isGathering(): boolean;
  connected(introduced: Introduced): void;
  /** Whether a member may open a further connection. */
  hasRoom(member: number): boolean;
  /** No later attempt can succeed: another version, other members, a wrong key, a taken id. */
  joinFailed(error: MeshError): void;
}

/** Makes the connections: a listener for members with higher ids, a dialler for each member with a lower one. */
export class Connector {
  readonly listener: Listener;
  readonly #options: ResolvedOptions;
  readonly #version: number;
  readonly #context: ConnectorContext;
  readonly #diallers = new Map<number, Dialler>();
  /** The last error of the attempts to reach each member. */
  readonly #lastErrors = new Map<number, MeshError>();
  #lastDropped: DroppedConnection | undefined;

  constructor(
    options: ResolvedOptions,
    security: Security | undefined,
    version: number,
    context: ConnectorContext,
    pendingTickMs?: number,
  ) {
    this.#options = options;
    this.#version = version;
    this.#context = context;
    this.listener = this.#makeListener(security, pendingTickMs);
    for (const { id } of options.peers.values()) {
      if (id < options.id) this.#diallers.set(id, this.#makeDialler(id, security));
    }
  }

  dialAll(): void {
    for (const dialler of this.#diallers.values()) dialler.start();
  }

  /** Makes a lost connection again, or waits until the other member does. */
  again(member: number, error: MeshError): void {
    this.#lastErrors.set(member, error);
    this.#diallers.get(member)?.start();
  }

  stopDialling(): void {
    for (const dialler of this.#diallers.values()) dialler.stop();
  }

  timeoutError(ready: ReadonlySet<number>): MeshError {
    const connected = new Set(this.#context.links.keys());
    return joinTimeout(this.#options, connected, ready, this.#lastErrors, this.#lastDropped);
  }

  #makeListener(security: Security | undefined, pendingTickMs: number | undefined): Listener {
    const events: ListenerEvents = {
      check: (hello, from) =>
        checkHello(hello, from, {
          options: this.#options,
          version: this.#version,
          gathering: this.#context.isGathering(),
          current: (member) => this.#context.links.get(member)?.hello,
          hasRoom: (member) => this.#context.hasRoom(member),
        }),
      answer: ({ from, connection }) => this.hello(from, connection),
      connected: (introduced) => this.#context.connected(introduced),
      refused: (error) => this.#refused(error),
      dropped: (error, from) => this.#dropped(error, from),
    };
    return new Listener(this.#options, security, this.#version, events, pendingTickMs);
  }

  #makeDialler(id: number, security: Security | undefined): Dialler {
    return new Dialler(this.#options.peers.get(id)!, this.hello(id), security, {
      connected: (introduced) => this.#context.connected(introduced),
      attemptFailed: (_member, error) => this.#lastErrors.set(id, error),
      refused: (_member, error) => this.#context.joinFailed(error),
    });
  }

  /** The HELLO of this member to another one. */
  hello(to: number, connection?: Hello['connection']): Hello {
    const { id, digest, instance, maxFrameBytes, attributes, levels } = this.#options;
    const version = this.#version;
    return { version, from: id, to, digest, instance, maxFrameBytes, levels, attributes, connection };
  }

  #refused(error: MeshError): void {
    const { code, memberId: member, message } = error;
    this.#options.logger.warn?.({ code, member }, `mesh: refused: ${message}`);
    const final = code === 'ERR_RDMC_MESH_VERSION' || code === 'ERR_RDMC_MESH_MEMBERS_DIFFER';
    if (final && this.#context.isGathering()) this.#context.joinFailed(error);
  }

  #dropped(error: unknown, from: string): void {
    this.#lastDropped = { error, from };
    this.#options.logger.warn?.(
      { code: codeOf(error), from },
      `mesh: closed the connection from ${from}: ${messageOf(error)}`,
    );
  }
}
