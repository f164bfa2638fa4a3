import { Dialler } from './dialler.js';
import { codeOf, type MeshError, messageOf } from './errors.js';
import type { Hello } from './hello.js';
import { joinTimeout, type Trouble } from './join-errors.js';
import type { Introduced, Link } from './link.js';
import { Listener, type ListenerEvents } from './listener.js';
import type { ResolvedOptions } from './options.js';
import type { Security } from './security.js';
import { judgeHello } from './verdict.js';

/** What the doors ask and tell the mesh behind them. */
export interface House {
  readonly links: ReadonlyMap<number, Link>;
  /** Whether members can still be connected. */
  isGathering(): boolean;
  connected(introduced: Introduced): void;
  /** Whether a member may open a further connection. */
  hasRoom(member: number): boolean;
  /** Something that makes waiting pointless: another version, other members, a wrong key, a taken id. */
  hopeless(error: MeshError): void;
}

/** How connections come about: the listener for higher ids, a dialler for each lower one. */
export class Doors {
  readonly listener: Listener;
  readonly #options: ResolvedOptions;
  readonly #version: number;
  readonly #house: House;
  readonly #diallers = new Map<number, Dialler>();
  /** The last thing that went wrong on the way to each member. */
  readonly #troubles = new Map<number, MeshError>();
  #strangerTrouble: Trouble | undefined;

  constructor(
    options: ResolvedOptions,
    security: Security | undefined,
    version: number,
    house: House,
    strangerTickMs?: number,
  ) {
    this.#options = options;
    this.#version = version;
    this.#house = house;
    this.listener = this.#makeListener(security, strangerTickMs);
    for (const { id } of options.peers.values()) {
      if (id < options.id) this.#diallers.set(id, this.#makeDialler(id, security));
    }
  }

  dialAll(): void {
    for (const dialler of this.#diallers.values()) dialler.start();
  }

  /** A connection was lost while members can still come: make it again, or wait for the other side. */
  again(member: number, error: MeshError): void {
    this.#troubles.set(member, error);
    this.#diallers.get(member)?.start();
  }

  stopDialling(): void {
    for (const dialler of this.#diallers.values()) dialler.stop();
  }

  timeoutError(ready: ReadonlySet<number>): MeshError {
    const connected = new Set(this.#house.links.keys());
    return joinTimeout(this.#options, connected, ready, this.#troubles, this.#strangerTrouble);
  }

  #makeListener(security: Security | undefined, strangerTickMs: number | undefined): Listener {
    const events: ListenerEvents = {
      judge: (hello, from) =>
        judgeHello(hello, from, {
          options: this.#options,
          version: this.#version,
          gathering: this.#house.isGathering(),
          current: (member) => this.#house.links.get(member)?.hello,
          hasRoom: (member) => this.#house.hasRoom(member),
        }),
      answer: ({ from, connection }) => this.hello(from, connection),
      connected: (introduced) => this.#house.connected(introduced),
      refused: (error) => this.#refused(error),
      dropped: (error, from) => this.#dropped(error, from),
    };
    return new Listener(this.#options, security, this.#version, events, strangerTickMs);
  }

  #makeDialler(id: number, security: Security | undefined): Dialler {
    return new Dialler(this.#options.peers.get(id)!, this.hello(id), security, {
      connected: (introduced) => this.#house.connected(introduced),
      attemptFailed: (_member, error) => this.#troubles.set(id, error),
      refused: (_member, error) => this.#house.hopeless(error),
    });
  }

  /** What this member says first to another one. */
  hello(to: number, connection?: Hello['connection']): Hello {
    const { id, digest, instance, maxFrameBytes, attributes } = this.#options;
    return { version: this.#version, from: id, to, digest, instance, maxFrameBytes, attributes, connection };
  }

  #refused(error: MeshError): void {
    const { code, memberId: member, message } = error;
    this.#options.logger.warn?.({ code, member }, `mesh: refused: ${message}`);
    const final = code === 'ERR_RDMC_MESH_VERSION' || code === 'ERR_RDMC_MESH_MEMBERS_DIFFER';
    if (final && this.#house.isGathering()) this.#house.hopeless(error);
  }

  #dropped(error: unknown, from: string): void {
    this.#strangerTrouble = { error, from };
    this.#options.logger.warn?.({ code: codeOf(error), from }, `mesh: dropped ${from}: ${messageOf(error)}`);
  }
}
