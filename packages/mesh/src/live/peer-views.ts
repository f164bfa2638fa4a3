import type { Link } from '../link.js';
import type { Member } from '../member.js';
import type { MeshPeer } from '../mesh-core.js';
import type { RosterEntry } from './roster.js';

/** The other members as the application sees them: those that are connected, and those that were lost and not removed. */
export class PeerViews {
  readonly peers = new Map<number, MeshPeer>();

  constructor(
    /** Their addresses. */
    private readonly addresses: Map<number, Member>,
    private readonly links: ReadonlyMap<number, Link>,
    private readonly left: ReadonlyMap<number, number>,
  ) {}

  set({ id, host, port, incarnation }: RosterEntry): void {
    const { links, left } = this;
    this.addresses.set(id, { id, host, port });
    this.peers.set(id, {
      id,
      incarnation,
      address: Object.freeze({ host, port }),
      get attributes() {
        return links.get(id)?.hello.attributes ?? {};
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
  }
}
