import { Deferred } from '@rdmc/common';

/**
 * gathering: pairs are being connected, and a lost connection is made again.
 * ready:     every pair of this member is connected, and all members were told. From here on a member may
 *            have finished joining, so a lost connection is a lost member.
 * formed:    all members have sent READY; `join` has resolved.
 * closed:    by `close`, or because joining failed.
 */
export type Phase = 'gathering' | 'ready' | 'formed' | 'closed';

/** How far one member of a fixed list is with joining. */
export class Joining {
  /** Members that have sent READY on their present link. */
  readonly ready = new Set<number>();
  readonly #settled = new Deferred<void>();
  #phase: Phase = 'gathering';

  constructor(private readonly peers: ReadonlyMap<number, unknown>) {}

  get phase(): Phase {
    return this.#phase;
  }

  /** Resolves when the mesh has formed; rejects with the error of `fail`. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Each step follows from the state alone, not from the event that changed it. `tell` sends READY to all members. */
  advance(connected: number, tell: () => void): void {
    if (this.#phase === 'gathering' && connected === this.peers.size) {
      this.#phase = 'ready';
      tell();
    }
    if (this.#phase === 'ready' && [...this.peers.keys()].every((id) => this.ready.has(id))) {
      this.#phase = 'formed';
      this.#settled.resolve();
    }
  }

  fail(error: Error): void {
    this.#phase = 'closed';
    this.#settled.reject(error);
  }

  close(): void {
    this.#phase = 'closed';
  }
}
