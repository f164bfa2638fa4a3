import { after, type Clock } from './clock.js';
import type { NicCosts } from './cluster.js';
import { Flow } from './flow.js';
import type { Link } from './link.js';
import type { Network } from './network.js';

/** One block from a member to a neighbour. */
export interface SendRequest {
  readonly slot: number;
  readonly block: number;
  readonly bytes: number;
  /** Time that a test adds before its first byte, in microseconds. */
  readonly delay: number;
  /** The first byte and the last byte have left. */
  started(): void;
  finished(): void;
  /** The block is in the receiver's memory: its completion is raised there. */
  arrived(): void;
  /** The acknowledgement is back: the completion at the sender. */
  completed(): void;
}

/** The send queue of one queue pair: its requests use the wire one after the other. */
export class SendQueue {
  readonly #waiting: SendRequest[] = [];
  #busy = false;

  constructor(
    private readonly clock: Clock,
    private readonly network: Network,
    private readonly path: readonly Link[],
    private readonly nic: NicCosts,
  ) {}

  get isEmpty(): boolean {
    return !this.#busy && this.#waiting.length === 0;
  }

  post(request: SendRequest): void {
    this.#waiting.push(request);
    if (!this.#busy) this.#next();
  }

  #next(): void {
    const request = this.#waiting.shift();
    if (request === undefined) return;
    this.#busy = true;
    after(this.clock, this.nic.request + request.delay, () => this.#start(request));
  }

  #start(request: SendRequest): void {
    request.started();
    const bytes = request.bytes + this.nic.headerBytes;
    this.network.start(new Flow(this.path, bytes, (flow) => this.#end(flow, request)));
  }

  #end(flow: Flow, request: SendRequest): void {
    this.network.end(flow);
    request.finished();
    this.#busy = false;
    const { latency, acknowledgement } = this.nic;
    after(this.clock, latency, () => {
      request.arrived();
      after(this.clock, acknowledgement, () => request.completed());
    });
    if (!this.#busy) this.#next();
  }
}
