import { after } from './clock.js';
import { Flow, type Link } from './flow.js';
import type { PortQueue } from './port-queue.js';
import type { SendRequest, WireOwner } from './send-request.js';
import type { Turns } from './turns.js';

/** The ends of a path with a queue. */
export interface QueuedPath {
  /** Of all queue pairs of the sender: its NIC sends one block after the other. */
  readonly sender: Turns;
  readonly queue: PortQueue;
}

/**
 * The wire of one queue pair where a queue is in front of the receiver's port. The bytes that fit into the queue leave the sender
 * at the rate of the links before the port, also while the port is busy; the others cross all links at once.
 *
 *   links   |-- all: what does not fit -|-- before the port: the rest --|           the sender's NIC takes the next block
 *   queue                               |--- its turn ---|--- the port ---|         the block is at the receiver
 *
 * In a real switch the queue fills first. The order makes no difference to the times at which both parts end.
 */
export class QueuedWire {
  readonly #before: readonly Link[];
  readonly #port: readonly Link[];
  /** Requests that have not arrived, in order: a connection delivers in order. */
  readonly #onTheWay: QueuedRequest[] = [];

  constructor(
    private readonly owner: WireOwner,
    private readonly ends: QueuedPath,
  ) {
    const { port } = ends.queue;
    this.#before = owner.path.filter((link) => link !== port);
    this.#port = [port];
  }

  /** Starts a request. The owner's wire is free when its last byte has left. */
  send(request: SendRequest): void {
    const { clock, nic } = this.owner;
    const bytes = request.bytes + nic.headerBytes;
    after(clock, nic.request + request.delay, () => this.ends.sender.take(() => this.#start(request, bytes)));
  }

  #start(request: SendRequest, bytes: number): void {
    request.started();
    const queued = this.ends.queue.take(bytes);
    const sent = new QueuedRequest(request, queued);
    this.#onTheWay.push(sent);
    const direct = bytes - queued;
    if (queued === 0) this.#flow(this.owner.path, direct, 1, () => this.#left(sent));
    else if (direct === 0) this.#leave(sent);
    else this.#flow(this.owner.path, direct, 0, () => this.#leave(sent));
  }

  #leave(sent: QueuedRequest): void {
    const { queue } = this.ends;
    this.#flow(this.#before, sent.queued, 1, () => this.#left(sent));
    queue.turns.take(() => this.#flow(this.#port, sent.queued, 1, () => this.#passed(sent)));
  }

  /** The last byte has left the links before the port. */
  #left(sent: QueuedRequest): void {
    const { owner } = this;
    sent.hasLeft = true;
    sent.request.finished();
    owner.wireIsFree();
    this.ends.sender.end();
    this.#arrivals();
    owner.continue();
  }

  /** The last byte has passed the port. */
  #passed(sent: QueuedRequest): void {
    const { queue } = this.ends;
    sent.hasPassed = true;
    queue.give(sent.queued);
    queue.turns.end();
    this.#arrivals();
  }

  #arrivals(): void {
    const { clock, nic } = this.owner;
    while (this.#onTheWay[0]?.isComplete) {
      const { request } = this.#onTheWay.shift()!;
      after(clock, nic.latency, () => {
        request.arrived();
        after(clock, nic.acknowledgement, () => request.completed());
      });
    }
  }

  #flow(path: readonly Link[], bytes: number, blocks: number, done: () => void): void {
    const { network } = this.owner;
    const part = new Part(path, bytes, blocks, () => {
      network.end(part);
      done();
    });
    network.start(part);
  }
}

/** A request on its way, of which some bytes go through the queue. */
class QueuedRequest {
  hasLeft = false;
  hasPassed: boolean;

  constructor(
    readonly request: SendRequest,
    readonly queued: number,
  ) {
    this.hasPassed = queued === 0;
  }

  get isComplete(): boolean {
    return this.hasLeft && this.hasPassed;
  }
}

/** A part of a request, over some of its links. */
class Part extends Flow {
  constructor(
    path: readonly Link[],
    bytes: number,
    blocks: number,
    private readonly done: () => void,
  ) {
    super(path, bytes, blocks);
  }

  fire(): void {
    this.done();
  }
}
