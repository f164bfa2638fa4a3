import { floorLog2, popcount, rotateRight, trailingZeros } from './bits.js';

/**
 * The binomial pipeline among the 2^l vertices of a hypercube (RDMC, DSN 2018, section 4.4), vertex 0 the
 * root. In step j every vertex faces its neighbour along dimension m = j mod l.
 *
 * The printed formula has slips that are corrected here: σ rotates the *vertex number* (not n), the rule
 * for the root applies to vertex 0, and the last step is l + k − 2 for every sender.
 */
export class Hypercube {
  /** l: the number of dimensions. */
  readonly dimensions: number;
  /** 2^l. */
  readonly vertices: number;
  /** l + k − 1. */
  readonly steps: number;

  constructor(
    nodes: number,
    private readonly blocks: number,
  ) {
    this.dimensions = floorLog2(nodes);
    this.vertices = 2 ** this.dimensions;
    this.steps = this.dimensions + blocks - 1;
  }

  /** The vertex that `vertex` faces in `step`. */
  facing(vertex: number, step: number): number {
    return vertex ^ (1 << (step % this.dimensions));
  }

  /** The block that `vertex` sends to the vertex it faces in `step`, or −1. Needs step < steps. */
  block(vertex: number, step: number): number {
    const last = this.blocks - 1;
    if (vertex === 0) return Math.min(step, last);
    const rotated = rotateRight(vertex, step % this.dimensions, this.dimensions);
    if (rotated === 1) return -1; // it faces the root, which has all blocks
    const block = step - this.dimensions + trailingZeros(rotated);
    return block < 0 ? -1 : Math.min(block, last);
  }

  /**
   * The number of steps before `step` in which `vertex` faced a lower vertex, modulo 2. Exactly in those steps it
   * receives the block that it relays next: see binomial-pipeline.ts.
   */
  relayParity(vertex: number, step: number): number {
    const dimension = step % this.dimensions;
    const turns = (step - dimension) / this.dimensions;
    const inThisTurn = popcount(vertex & ((1 << dimension) - 1));
    return ((turns % 2) * popcount(vertex) + inThisTurn) % 2;
  }
}
