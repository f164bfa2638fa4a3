import { anySignal, type Subscription } from '@rdmc/common';
import type { Mesh, RequestOptions } from '@rdmc/mesh';
import { readRequest } from '../rpc/read-request.js';
import { LeadView } from './lead-view.js';
import { callEnvelope, coordinatorEnvelope, requireTerm } from './term-guard.js';

type Listener = (from: number, body: unknown) => void;
type Handler = (from: number, body: unknown) => unknown;

/** The messages of one coordinator's term to members, and its answers to them: as the mesh, with the term in each. */
export class CoordinatorChannel {
  constructor(
    private readonly mesh: Pick<Mesh, 'request' | 'send' | 'broadcast' | 'onRequest'>,
    /** In each message. */
    readonly term: number,
  ) {}

  /** An order whose answer is awaited. @throws MeshRemoteError with ERR_RDMC_COORDINATOR_STALE; as `mesh.request` */
  request(to: number, topic: string, body: unknown, options?: RequestOptions): Promise<unknown> {
    return this.mesh.request(to, topic, { term: this.term, order: body }, options);
  }

  /** As `mesh.send`. */
  send(to: number, topic: string, body: unknown): void {
    this.mesh.send(to, topic, { term: this.term, order: body });
  }

  /** As `mesh.broadcast`. */
  broadcast(topic: string, body: unknown): void {
    this.mesh.broadcast(topic, { term: this.term, order: body });
  }

  /** Answers the requests that members send with `MemberChannel.request`. They are refused where they have seen a later term. */
  onRequest(topic: string, handler: Handler): Subscription {
    return this.mesh.onRequest(topic, async (from, body) => {
      requireTerm(this.term, readRequest(callEnvelope, body, from, 'coordinator').term);
      return { term: this.term, answer: await handler(from, (body as { request?: unknown }).request) };
    });
  }
}

/** The requests of one member to the coordinator, and the coordinator's orders to it. Lower terms are refused. */
export class MemberChannel {
  readonly view: LeadView;

  /** @param first the member that is asked while no coordinator is known */
  constructor(
    private readonly mesh: Mesh,
    readonly first: number,
  ) {
    this.view = LeadView.of(mesh);
  }

  /**
   * Asks the member that coordinates.
   * @throws TailwindError ERR_RDMC_COORDINATOR_STALE: another one coordinates since, ask again; MeshRemoteError with the
   *   coordinator's refusal; as `mesh.request`
   */
  async request(topic: string, body: unknown, options: RequestOptions = {}): Promise<unknown> {
    const { member, signal: superseded } = this.view.route(this.first);
    const signal = options.signal ? anySignal(options.signal, superseded) : superseded;
    const call = { term: this.view.highest, request: body };
    let reply: unknown;
    try {
      reply = await this.mesh.request(member, topic, call, { ...options, signal });
    } catch (error) {
      throw superseded.aborted ? superseded.reason : error;
    }
    this.view.accept({
      member,
      term: readRequest(coordinatorEnvelope, reply, member, 'client of the coordinator').term,
    });
    return (reply as { readonly answer?: unknown }).answer;
  }

  /** Carries out the orders of coordinators. One of a lower term than was seen is refused: ERR_RDMC_COORDINATOR_STALE. */
  onRequest(topic: string, handler: Handler): Subscription {
    return this.mesh.onRequest(topic, (from, body) => handler(from, this.#order(from, body)));
  }

  /** As `onRequest`, for messages without an answer: those of a lower term are dropped. */
  onMessage(topic: string, listener: Listener): Subscription {
    return this.mesh.onMessage(topic, (from, body) => {
      if (termOf(from, body) >= this.view.highest) listener(from, this.#order(from, body));
    });
  }

  #order(from: number, body: unknown): unknown {
    this.view.accept({ member: from, term: termOf(from, body) });
    return (body as { readonly order?: unknown }).order;
  }
}

/** @throws TailwindError ERR_RDMC_PROTOCOL */
function termOf(from: number, body: unknown): number {
  return readRequest(coordinatorEnvelope, body, from, 'member').term;
}
