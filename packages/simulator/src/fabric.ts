import { bytesPerMicrosecond, type Cluster } from './cluster.js';
import { Link } from './flow.js';
import { PortQueue } from './port-queue.js';
import type { QueuedPath } from './queued-wire.js';
import { Turns } from './turns.js';

/** One link, both ways, that is slower than the ports. */
export interface SlowPair {
  /** One node: 0 to `nodes` − 1. */
  readonly a: number;
  /** The other node: 0 to `nodes` − 1, not `a`. */
  readonly b: number;
  /** Its bandwidth over that of a port: more than 0, at most 1. */
  readonly ratio: number;
}

/** The uplink of one rack. */
interface Uplink {
  readonly up: Link;
  readonly down: Link;
}

/** The links of a cluster: a port each way for each node, an uplink each way for each rack, and slow pairs. */
export class Fabric {
  readonly #out: Link[];
  readonly #in: Link[];
  /** Of each node, if the cluster has queues. */
  readonly #queues: readonly PortQueue[] | undefined;
  readonly #senders: readonly Turns[];
  readonly #uplinks = new Map<number, Uplink>();
  readonly #slow = new Map<string, Link>();

  constructor(
    cluster: Cluster,
    nodes: number,
    /** The rack of each node; `undefined` without racks. */
    private readonly racks: readonly number[] | undefined,
    slowPairs: readonly SlowPair[] = [],
  ) {
    const rate = bytesPerMicrosecond(cluster.gbitPerSecond);
    const { queueMicroseconds = 0, bucketBytes } = cluster;
    const link = (name: string, capacity: number) => new Link(name, capacity, bucketBytes);
    this.#out = Array.from({ length: nodes }, (_, node) => link(`out ${node}`, rate));
    this.#in = Array.from({ length: nodes }, (_, node) => link(`in ${node}`, rate));
    const queueBytes = queueMicroseconds * rate;
    if (queueBytes > 0) this.#queues = this.#in.map((port) => new PortQueue(port, queueBytes));
    this.#senders = this.#out.map(() => new Turns());
    const share = cluster.uplinkGbitPerMember;
    const perMember = share === undefined ? Number.POSITIVE_INFINITY : bytesPerMicrosecond(share);
    for (const [rack, members] of sizesOf(racks ?? [])) {
      const capacity = Math.min(perMember, rate) * members;
      this.#uplinks.set(rack, {
        up: link(`up ${rack}`, capacity),
        down: link(`down ${rack}`, capacity),
      });
    }
    for (const { a, b, ratio } of slowPairs) {
      this.#slow.set(`${a} ${b}`, link(`slow ${a} ${b}`, rate * ratio));
      this.#slow.set(`${b} ${a}`, link(`slow ${b} ${a}`, rate * ratio));
    }
  }

  /** The links from one node to another. */
  path(from: number, to: number): Link[] {
    const path = [this.#out[from]!, this.#in[to]!];
    const { racks } = this;
    if (racks !== undefined && racks[from] !== racks[to]) {
      path.push(this.#uplinks.get(racks[from]!)!.up, this.#uplinks.get(racks[to]!)!.down);
    }
    const slow = this.#slow.get(`${from} ${to}`);
    if (slow) path.push(slow);
    return path;
  }

  /** The ends of a path, if the cluster has queues. */
  queued(from: number, to: number): QueuedPath | undefined {
    return this.#queues && { sender: this.#senders[from]!, queue: this.#queues[to]! };
  }

  /** Blocks and bytes that have crossed the uplink of each rack, in the order in which racks first appear. */
  get traffic(): RackCrossings[] {
    return [...this.#uplinks].map(([rack, { up, down }]) => ({
      rack,
      entering: down.ended,
      leaving: up.ended,
    }));
  }

  /** Whether no link carries a flow. */
  get idle(): boolean {
    return [...this.#out, ...this.#in].every(({ flows }) => flows.length === 0);
  }
}

/** Blocks that have crossed the uplink of one rack. */
export interface RackCrossings {
  /** The rack, as the option `racks` numbers it. */
  readonly rack: number;
  /** Blocks into the rack. */
  readonly entering: number;
  /** Blocks out of the rack. */
  readonly leaving: number;
}

function sizesOf(racks: readonly number[]): Map<number, number> {
  const sizes = new Map<number, number>();
  for (const rack of racks) sizes.set(rack, (sizes.get(rack) ?? 0) + 1);
  return sizes;
}
