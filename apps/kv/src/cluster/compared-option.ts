import type { MeshPeer } from '@rdmc/mesh';
import type { EnlistMessage } from './messages.js';

export interface Peers {
  readonly peers: ReadonlyMap<number, Pick<MeshPeer, 'state' | 'incarnation'>>;
}

export interface ComparedOptions {
  /** Undefined: the server does not tell it. */
  readonly valueOf: (enlistment: EnlistMessage) => number | undefined;
  readonly refusal: (server: number, own: number, others: number) => Error;
}

/**
 * An option that all servers must have the same. A new server is compared with the servers that are connected only, so that a cluster
 * whose servers were all stopped may be started with another value. One that does not tell it is not refused, and does not count.
 */
export class ComparedOption {
  readonly #told = new Map<number, { readonly value: number | undefined; readonly incarnation: number }>();

  constructor(
    private readonly mesh: Peers,
    private readonly options: ComparedOptions,
  ) {}

  /** A server that runs is not refused: it may have keys. @throws what `refusal` makes */
  check(server: number, enlistment: EnlistMessage): void {
    const own = this.options.valueOf(enlistment);
    const others = this.#othersOf(server);
    if (own === undefined || others.length === 0 || enlistment.isRunning) return;
    // Where servers of the release before differ, those with less are to change.
    const most = Math.max(...others);
    if (own !== most) throw this.options.refusal(server, own, most);
  }

  /** The server is admitted. */
  admit(server: number, enlistment: EnlistMessage): void {
    const incarnation = this.mesh.peers.get(server)?.incarnation ?? 0;
    this.#told.set(server, { value: this.options.valueOf(enlistment), incarnation });
  }

  isTold(enlistment: EnlistMessage): boolean {
    return this.options.valueOf(enlistment) !== undefined;
  }

  /** Whether another server that is here has told the same; or this one does not tell it. */
  isOfAnother(server: number, enlistment: EnlistMessage): boolean {
    const own = this.options.valueOf(enlistment);
    return own === undefined || this.#othersOf(server).includes(own);
  }

  #othersOf(server: number): number[] {
    return [...this.#told].flatMap(([id, { value, incarnation }]) =>
      id === server || value === undefined || !this.#isHere(id, incarnation) ? [] : [value],
    );
  }

  /** The process that told it: the next one of the same server may have another value. */
  #isHere(id: number, incarnation: number): boolean {
    const peer = this.mesh.peers.get(id);
    return peer?.state === 'connected' && peer.incarnation === incarnation;
  }
}
