import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import type { Neighbours, Transfer } from './transfer.js';

/**
 * Chain send (RDMC, DSN 2018, section 4.3): rank r relays each block to rank r + 1 in the step after its
 * arrival. Step r + b carries block b from r to r + 1; k + n − 2 steps.
 */
export class Chain implements Plan {
  readonly steps: number;

  constructor(
    private readonly nodes: number,
    private readonly blocks: number,
  ) {
    this.steps = blocks + nodes - 2;
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    const block = step - rank;
    if (rank === this.nodes - 1 || block < 0 || block >= this.blocks) return undefined;
    return { step, from: rank, to: rank + 1, block };
  }

  incoming(rank: number, step: number): Transfer | undefined {
    return rank === 0 ? undefined : this.outgoing(rank - 1, step);
  }

  senders(step: number): Iterable<number> {
    return range(Math.max(0, step - this.blocks + 1), Math.min(this.nodes - 1, step + 1));
  }

  sendRange(rank: number): StepRange {
    return rank === this.nodes - 1 ? NO_STEPS : { start: rank, end: rank + this.blocks };
  }

  receiveRange(rank: number): StepRange {
    return rank === 0 ? NO_STEPS : this.sendRange(rank - 1);
  }

  neighbours(rank: number): Neighbours {
    const before = rank === 0 ? [] : [rank - 1];
    const after = rank === this.nodes - 1 ? [] : [rank + 1];
    return { sendsTo: after, receivesFrom: before, firstFrom: before[0] };
  }
}
