import { setTimeout as delay } from 'node:timers/promises';
import type { KeyedSockets, Mesh } from '@rdmc/mesh';
import { KvError } from '../errors.js';
import { PEER_REDIAL_MS } from '../limits.js';
import { PeerLink } from './peer-link.js';

/** The connections on which this server asks the others. A connection that breaks is made again. */
export class PeerLinks {
  readonly #links = new Map<number, PeerLink>();
  readonly #closed = new AbortController();
  /** Members that do not come back. */
  readonly #dropped = new Set<number>();
  readonly #listeners: (() => void)[] = [];

  constructor(
    private readonly mesh: Mesh,
    private readonly sockets: KeyedSockets,
  ) {}

  /** Connects to all of them. @throws MeshError when one cannot be reached */
  async connect(servers: readonly number[]): Promise<void> {
    await Promise.all(servers.map((member) => this.#dial(member)));
  }

  /** Calls the listener when a connection that had ended was made again. */
  onLinked(listener: () => void): void {
    this.#listeners.push(listener);
  }

  link(member: number): PeerLink | undefined {
    const link = this.#links.get(member);
    return link?.isOpen ? link : undefined;
  }

  flush(): void {
    for (const link of this.#links.values()) link.flush();
  }

  /** The member does not come back. */
  drop(member: number): void {
    this.#dropped.add(member);
    this.#links.get(member)?.close();
  }

  close(): void {
    this.#closed.abort();
    for (const link of this.#links.values()) link.close();
  }

  async #dial(member: number): Promise<void> {
    const { mesh } = this;
    const { host } = mesh.members.find(({ id }) => id === member)!;
    const port = Number(mesh.peers.get(member)?.attributes.kvPeerPort);
    const socket = await this.sockets.connect({ host, port }, { signal: this.#closed.signal });
    this.#links.set(member, new PeerLink(member, socket, mesh.id));
    // Behind the link's own listener: by now it has said what it lost.
    socket.on('close', () => void this.#redial(member));
    if (socket.closed) throw new KvError('ERR_RDMC_KV_MEMBER_LOST', `member ${member} closed the connection`);
    if (this.#isOver(member)) this.#links.get(member)!.close();
  }

  /** As long as the mesh has the member, it can be connected to again. */
  async #redial(member: number): Promise<void> {
    while (!this.#isOver(member)) {
      try {
        await this.#dial(member);
        for (const listener of this.#listeners) listener();
        return;
      } catch {
        await delay(PEER_REDIAL_MS);
      }
    }
  }

  #isOver(member: number): boolean {
    return this.#closed.signal.aborted || this.#dropped.has(member);
  }
}
