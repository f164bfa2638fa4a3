import { ceilLog2, floorLog2 } from './bits.js';
import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import type { Neighbours, Transfer } from './transfer.js';

/**
 * Binomial tree (RDMC, DSN 2018, section 4.3 and figure 3 left): in round t every rank below 2^t, all of
 * which hold the whole message, sends all of it to the rank 2^t above. A round is k steps;
 * k·ceil(log2 n) steps.
 */
export class BinomialTree implements Plan {
  readonly steps: number;

  constructor(
    private readonly nodes: number,
    private readonly blocks: number,
  ) {
    this.steps = blocks * ceilLog2(nodes);
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    const block = step % this.blocks;
    const reach = 2 ** this.roundOf(step);
    const to = rank + reach;
    return rank < reach && to < this.nodes ? { step, from: rank, to, block } : undefined;
  }

  incoming(rank: number, step: number): Transfer | undefined {
    const reach = 2 ** this.roundOf(step);
    return rank >= reach && rank < 2 * reach ? this.outgoing(rank - reach, step) : undefined;
  }

  senders(step: number): Iterable<number> {
    const reach = 2 ** this.roundOf(step);
    return range(0, Math.min(reach, this.nodes - reach));
  }

  sendRange(rank: number): StepRange {
    const first = firstSendingRound(rank);
    const rounds = this.children(rank).length;
    return { start: first * this.blocks, end: (first + rounds) * this.blocks };
  }

  receiveRange(rank: number): StepRange {
    if (rank === 0) return NO_STEPS;
    const round = floorLog2(rank);
    return { start: round * this.blocks, end: (round + 1) * this.blocks };
  }

  neighbours(rank: number): Neighbours {
    const parents = rank === 0 ? [] : [rank - 2 ** floorLog2(rank)];
    return { sendsTo: this.children(rank), receivesFrom: parents, firstFrom: parents[0] };
  }

  private children(rank: number): number[] {
    const found: number[] = [];
    for (let reach = 2 ** firstSendingRound(rank); rank + reach < this.nodes; reach *= 2) {
      found.push(rank + reach);
    }
    return found;
  }

  private roundOf(step: number): number {
    return Math.floor(step / this.blocks);
  }
}

/** A rank receives in the round of its highest bit and sends from the next one on. */
function firstSendingRound(rank: number): number {
  return rank === 0 ? 0 : floorLog2(rank) + 1;
}
