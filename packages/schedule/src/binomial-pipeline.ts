/*
 * The binomial pipeline for any number of nodes, in k + ceil(log2 n) − 1 steps.
 *
 * With n = 2^l it is exactly the hypercube of section 4.4. Otherwise let l = floor(log2 n): the
 * 2^l vertices are ranks 0 … 2^l − 1, and each of the n − 2^l other ranks joins a vertex as its *twin*:
 * rank 2^l + i joins vertex 1 + i. Vertex 0, the root, does not have a twin. Seen from outside, a pair behaves
 * as the one vertex of the hypercube. Inside, one of the two (the receiver) takes the block that comes from
 * outside while the other (the sender) sends the block that goes out; the receiver's idle send port and the
 * sender's idle receive port pass a block between them. These properties make this work without a search:
 *
 * - Look at the steps in which a vertex faces a lower one (its bit of the step's dimension is 1): T0 < T1 < …
 *   In Ti it receives the block T(i+1) − l, and that is the only block that it sends in the steps after Ti up
 *   to T(i+1). So the twin that received in Ti is the sender until T(i+1), and the two swap after each Ti.
 * - The block received in step j − 1 by one twin, or relayed until then, is block j − 1 − l: in step j the
 *   receiver passes exactly that block to the sender. Neither is ever more than one block ahead of the other.
 * - After the hypercube's l + k − 1 steps each twin lacks one block, the receiver block k − 1 and the sender
 *   block k − 2, and one more step exchanges them.
 * - The vertex's first block goes to the lower twin. The upper one's first block comes in step l from the
 *   vertex's neighbour along dimension 0. With k = 1 the hypercube is done by then, and the same pairs of
 *   ranks carry that one block in the extra step, so a rank's first sender does not depend on k.
 */
import { floorLog2, popcount } from './bits.js';
import { Hypercube } from './hypercube.js';
import { MAX_BLOCKS } from './limits.js';
import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import type { Neighbours, Transfer } from './transfer.js';

export class BinomialPipeline implements Plan {
  readonly steps: number;
  private readonly cube: Hypercube;

  constructor(
    private readonly nodes: number,
    private readonly blocks: number,
  ) {
    this.cube = new Hypercube(nodes, blocks);
    this.steps = this.cube.steps + (nodes === this.cube.vertices ? 0 : 1);
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    const vertex = this.vertexOf(rank);
    if (step === this.cube.steps) return this.lastOutgoing(rank, vertex, step);
    if (rank !== this.sender(vertex, step)) return this.pass(vertex, step);
    return this.cross(vertex, step);
  }

  incoming(rank: number, step: number): Transfer | undefined {
    const vertex = this.vertexOf(rank);
    if (step === this.cube.steps) return this.lastIncoming(rank, vertex, step);
    if (rank !== this.receiver(vertex, step)) return this.pass(vertex, step);
    return vertex === 0 ? undefined : this.cross(this.cube.facing(vertex, step), step);
  }

  senders(step: number): Iterable<number> {
    // In the first l steps the number of vertices that hold a block doubles, and only lower twins hold one.
    return range(0, step < this.cube.dimensions ? 2 ** step : this.nodes);
  }

  sendRange(): StepRange {
    return { start: 0, end: this.steps };
  }

  receiveRange(rank: number): StepRange {
    return rank === 0 ? NO_STEPS : { start: 0, end: this.steps };
  }

  neighbours(rank: number): Neighbours {
    // The pairs of a step depend only on the dimension and on the parity of the turn. With so many blocks that
    // the last one is not reached, three turns contain all pairs; fewer blocks only remove pairs.
    const endless = new BinomialPipeline(this.nodes, MAX_BLOCKS);
    const sendsTo = new Set<number>();
    const receivesFrom = new Set<number>();
    for (let step = 0; step < 3 * this.cube.dimensions + 1; step += 1) {
      const sent = endless.outgoing(rank, step);
      const received = endless.incoming(rank, step);
      if (sent) sendsTo.add(sent.to);
      if (received) receivesFrom.add(received.from);
    }
    const [firstFrom] = receivesFrom;
    return { sendsTo: ascending(sendsTo), receivesFrom: ascending(receivesFrom), firstFrom };
  }

  /**
   * The step in which `rank` (not the root) receives its `index`-th block, counted from 0. It is at most
   * ceil(log2 n) − 1 + index.
   */
  arrival(rank: number, index: number): number {
    const { dimensions, vertices } = this.cube;
    if (index === 0) return rank < vertices ? floorLog2(rank) : dimensions;
    return dimensions + index - (this.upper(this.vertexOf(rank)) === -1 ? 1 : 0);
  }

  /**
   * The rank that faces the root in `step`. The root does not lack a block, so this rank is idle and free to send
   * elsewhere: in every step except the last if n is not a power of two, and in every step after the end.
   */
  idle(step: number): number {
    return this.sender(1 << (step % this.cube.dimensions), step);
  }

  private vertexOf(rank: number): number {
    return rank < this.cube.vertices ? rank : rank - this.cube.vertices + 1;
  }

  /** The upper rank of a vertex, or −1 if the vertex has one member only. */
  private upper(vertex: number): number {
    const rank = this.cube.vertices + vertex - 1;
    return vertex > 0 && rank < this.nodes ? rank : -1;
  }

  /** The rank that receives from outside; the lower one in the step in which the vertex's first block arrives. */
  private receiver(vertex: number, step: number): number {
    const upper = this.upper(vertex);
    if (upper === -1) return vertex;
    const first = (popcount(vertex) - 1) % 2;
    return this.cube.relayParity(vertex, step) === first ? vertex : upper;
  }

  /** The rank that sends to the outside: the twin of the receiver. */
  private sender(vertex: number, step: number): number {
    const upper = this.upper(vertex);
    if (upper === -1) return vertex;
    return this.receiver(vertex, step) === vertex ? upper : vertex;
  }

  /** The transfer from `vertex` to the vertex it faces. */
  private cross(vertex: number, step: number): Transfer | undefined {
    const block = this.cube.block(vertex, step);
    if (block === -1) return undefined;
    const to = this.receiver(this.cube.facing(vertex, step), step);
    return { step, from: this.sender(vertex, step), to, block };
  }

  /** The transfer between the twins of `vertex`. */
  private pass(vertex: number, step: number): Transfer | undefined {
    const block = step - 1 - this.cube.dimensions;
    if (block < 0) return undefined;
    return { step, from: this.receiver(vertex, step), to: this.sender(vertex, step), block };
  }

  private lastOutgoing(rank: number, vertex: number, step: number): Transfer | undefined {
    if (this.blocks === 1) return rank === vertex ? this.lastCross(vertex, step) : undefined;
    const upper = this.upper(vertex);
    if (upper === -1) return undefined;
    const [receives, sends] = [this.receiver(vertex, step), this.sender(vertex, step)];
    return rank === receives
      ? { step, from: receives, to: sends, block: this.blocks - 2 }
      : { step, from: sends, to: receives, block: this.blocks - 1 };
  }

  private lastIncoming(rank: number, vertex: number, step: number): Transfer | undefined {
    if (this.blocks === 1) return rank === vertex ? undefined : this.lastCross(vertex ^ 1, step);
    const upper = this.upper(vertex);
    return upper === -1 ? undefined : this.lastOutgoing(rank === vertex ? upper : vertex, vertex, step);
  }

  /** The transfer of a message's only block to the upper rank of the neighbour along dimension 0. */
  private lastCross(vertex: number, step: number): Transfer | undefined {
    const to = this.upper(vertex ^ 1);
    return to === -1 ? undefined : { step, from: vertex, to, block: 0 };
  }
}

function ascending(ranks: Iterable<number>): number[] {
  return [...ranks].sort((a, b) => a - b);
}
