import type { Link } from '../link.js';
import type { Member } from '../member.js';
import type { MeshPeer } from '../mesh-core.js';
import type { MeshAttributes } from '../options.js';
import type { RosterEntry } from './roster.js';

/** What a process announced. */
interface Announced {
  readonly instance: string;
  readonly attributes: MeshAttributes;
}

/** The other members as the application sees them: those that are connected, and those that were lost and not removed. */
export class PeerViews {
  readonly peers = new Map<number, MeshPeer>();
  /** By id, also of lost members. */
  readonly #announced = new Map<number, Announced>();

  constructor(
    /** Their addresses. */
    private readonly addresses: Map<number, Member>,
    private readonly links: ReadonlyMap<number, Link>,
    private readonly left: ReadonlyMap<number, number>,
  ) {}

  /** To be called when the member is connected, and whenever its entry changes or its connection has ended. */
  set({ id, host, port, incarnation, instance }: RosterEntry): void {
    const { links, left } = this;
    const announced = this.#announced;
    this.#take(id, instance);
    this.addresses.set(id, { id, host, port });
    this.peers.set(id, {
      id,
      incarnation,
      address: Object.freeze({ host, port }),
      get attributes() {
        return announced.get(id)?.attributes ?? {};
      },
      get levels() {
        return links.get(id)?.hello.levels;
      },
      get state() {
        if (links.has(id)) return 'connected';
        return left.has(id) ? 'left' : 'failed';
      },
    });
  }

  delete(id: number): void {
    this.addresses.delete(id);
    this.peers.delete(id);
    this.#announced.delete(id);
  }

  /** Keeps what a connected process has announced. Another process with its id has announced nothing until it is connected. */
  #take(id: number, instance: string): void {
    const attributes = this.links.get(id)?.hello.attributes;
    if (attributes !== undefined) this.#announced.set(id, { instance, attributes });
    else if (this.#announced.get(id)?.instance !== instance) this.#announced.delete(id);
  }
}
