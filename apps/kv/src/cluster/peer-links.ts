import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Mesh } from '@rdmc/mesh';
import {
  PEER_BUSY_REQUESTS,
  PEER_COLLECT_SHARE,
  PEER_COLLECT_TURNS,
  PEER_REDIAL_MS,
  PEER_USUAL_DECAY,
} from '../limits.js';
import { PEER_PURPOSE } from './peer-frames.js';
import { PeerLink } from './peer-link.js';

/**
 * The connections on which this server sends requests to the others, one for each, beside the mesh's own. On the mesh's connection, values
 * of 1 MiB and takeovers would leave a fifth to a tenth of the rate of its small messages, leases among them
 * (docs/results/key-value.md, "Bulk data and the mesh's connection"). Small commands travel with large ones, because commands of one
 * client stay in order.
 */
export class PeerLinks {
  readonly #links = new Map<number, PeerLink>();
  /** Attempts under way. */
  readonly #attempts = new Map<number, Promise<void>>();
  readonly #closed = new AbortController();
  readonly #listeners: (() => void)[] = [];
  readonly #onSent: (() => void)[] = [];
  #isCollecting = false;
  /** Requests that were collected or unanswered when a frame was sent: the most, which decreases slowly. */
  #usual = 0;

  constructor(private readonly mesh: Pick<Mesh, 'openConnection' | 'peers'>) {
    // One for each server that is being connected to.
    setMaxListeners(0, this.#closed.signal);
  }

  /** Connects to a server unless it is connected. Resolves when it is, or when the mesh does not have it. */
  reach(member: number): Promise<void> {
    if (this.link(member)) return Promise.resolve();
    let attempt = this.#attempts.get(member);
    if (attempt === undefined) {
      attempt = this.#openAgain(member).finally(() => this.#attempts.delete(member));
      this.#attempts.set(member, attempt);
    }
    return attempt;
  }

  /** Calls the listener when a connection was made. */
  onLinked(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Whether requests wait for those of later turns. */
  get isCollecting(): boolean {
    return this.#isCollecting;
  }

  /** Calls the listener when requests that were collected for some turns were sent. */
  onSent(listener: () => void): void {
    this.#onSent.push(listener);
  }

  link(member: number): PeerLink | undefined {
    const link = this.#links.get(member);
    return link?.isOpen ? link : undefined;
  }

  /**
   * Sends the requests so far: at once where few are unanswered, else with those that come in the next turns of the event loop, until
   * they are half of what clients usually have here at once. A frame costs both servers as much as several requests do, so larger
   * frames leave more of a busy processor to the requests. Turns of an idle processor take microseconds.
   */
  flush(): void {
    if (this.#isCollecting || this.#collected() === 0) return;
    this.#isCollecting = this.#unanswered() >= PEER_BUSY_REQUESTS;
    if (this.#isCollecting) this.#collect(PEER_COLLECT_TURNS);
    else this.#send();
  }

  close(): void {
    this.#closed.abort();
    for (const link of this.#links.values()) link.close();
  }

  #collect(turns: number): void {
    setImmediate(() => {
      if (turns > 1 && this.#collected() < this.#usual * PEER_COLLECT_SHARE) this.#collect(turns - 1);
      else {
        this.#send();
        for (const listener of this.#onSent) listener();
      }
    });
  }

  #send(): void {
    this.#isCollecting = false;
    const now = this.#unanswered() + this.#collected();
    this.#usual = Math.max(now, this.#usual - (this.#usual - now) * PEER_USUAL_DECAY);
    for (const link of this.#links.values()) link.flush();
  }

  #unanswered(): number {
    let sum = 0;
    for (const link of this.#links.values()) sum += link.unanswered;
    return sum;
  }

  #collected(): number {
    let sum = 0;
    for (const link of this.#links.values()) sum += link.collected;
    return sum;
  }

  async #open(member: number): Promise<void> {
    const { signal } = this.#closed;
    const connection = await this.mesh.openConnection(member, PEER_PURPOSE, { signal });
    const link = new PeerLink(connection);
    this.#links.set(member, link);
    link.signal.addEventListener('abort', () => void this.reach(member));
    if (signal.aborted) link.close();
  }

  /** As long as the mesh has the member, it can be connected to again. */
  async #openAgain(member: number): Promise<void> {
    while (!this.#closed.signal.aborted && this.mesh.peers.get(member)?.state === 'connected') {
      try {
        await this.#open(member);
        for (const listener of this.#listeners) listener();
        if (this.link(member)) return;
      } catch {
        await delay(PEER_REDIAL_MS);
      }
    }
  }
}
