import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import type { Neighbours, Transfer } from './transfer.js';

/**
 * Sequential send (RDMC, DSN 2018, section 4.3): the root sends the whole message to rank 1, then to
 * rank 2, and so on. Step (r − 1)·k + b carries block b to rank r; k(n − 1) steps.
 */
export class Sequential implements Plan {
  readonly steps: number;

  constructor(
    private readonly nodes: number,
    private readonly blocks: number,
  ) {
    this.steps = blocks * (nodes - 1);
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    if (rank !== 0) return undefined;
    const block = step % this.blocks;
    return { step, from: 0, to: (step - block) / this.blocks + 1, block };
  }

  incoming(rank: number, step: number): Transfer | undefined {
    const transfer = this.outgoing(0, step);
    return transfer?.to === rank ? transfer : undefined;
  }

  senders(): Iterable<number> {
    return [0];
  }

  sendRange(rank: number): StepRange {
    return rank === 0 ? { start: 0, end: this.steps } : NO_STEPS;
  }

  receiveRange(rank: number): StepRange {
    return rank === 0 ? NO_STEPS : { start: (rank - 1) * this.blocks, end: rank * this.blocks };
  }

  neighbours(rank: number): Neighbours {
    if (rank === 0) return { sendsTo: [...range(1, this.nodes)], receivesFrom: [], firstFrom: undefined };
    return { sendsTo: [], receivesFrom: [0], firstFrom: 0 };
  }
}
