import type { Clock } from './clock.js';
import type { NicCosts } from './cluster.js';
import { Flow, type Link } from './flow.js';
import type { Network } from './network.js';
import { type QueuedPath, QueuedWire } from './queued-wire.js';
import type { SendRequest } from './send-request.js';

/** The send queue of one queue pair: its requests use the wire one after the other. */
export class SendQueue {
  readonly #waiting: SendRequest[] = [];
  #busy = false;
  /** Where a queue is in front of the receiver's port. */
  readonly #queued: QueuedWire | undefined;

  constructor(
    readonly clock: Clock,
    readonly network: Network,
    readonly path: readonly Link[],
    readonly nic: NicCosts,
    queued?: QueuedPath,
  ) {
    if (queued) this.#queued = new QueuedWire(this, queued);
  }

  get isEmpty(): boolean {
    return !this.#busy && this.#waiting.length === 0;
  }

  post(request: SendRequest): void {
    this.#waiting.push(request);
    if (!this.#busy) this.#next();
  }

  /** The last byte of the request on the wire has left. */
  wireIsFree(): void {
    this.#busy = false;
  }

  /** Starts the next request, if it may start and none is on the wire. */
  continue(): void {
    if (!this.#busy) this.#next();
  }

  #next(): void {
    const [request] = this.#waiting;
    if (!request?.isReleased) return;
    this.#waiting.shift();
    this.#busy = true;
    if (this.#queued) this.#queued.send(request);
    else new RequestOnWire(this, request).prepare();
  }
}

type Phase = 'prepared' | 'on the wire' | 'arriving' | 'acknowledged';

/** One request: a timer of one object for its whole way, because a simulation has one of these for each transfer. */
class RequestOnWire extends Flow {
  #phase: Phase = 'prepared';

  constructor(
    private readonly queue: SendQueue,
    private readonly request: SendRequest,
  ) {
    super(queue.path, request.bytes + queue.nic.headerBytes);
  }

  prepare(): void {
    this.#after(this.queue.nic.request + this.request.delay, 'prepared');
  }

  fire(): void {
    switch (this.#phase) {
      case 'prepared':
        this.#phase = 'on the wire';
        this.request.started();
        this.queue.network.start(this);
        break;
      case 'on the wire':
        this.#left();
        break;
      case 'arriving':
        this.request.arrived();
        this.#after(this.queue.nic.acknowledgement, 'acknowledged');
        break;
      case 'acknowledged':
        this.request.completed();
    }
  }

  #left(): void {
    const { queue } = this;
    queue.network.end(this);
    this.request.finished();
    queue.wireIsFree();
    this.#after(queue.nic.latency, 'arriving');
    queue.continue();
  }

  #after(delay: number, phase: Phase): void {
    this.#phase = phase;
    const { clock } = this.queue;
    if (delay === 0) this.fire();
    else clock.schedule(this, clock.now + delay);
  }
}
