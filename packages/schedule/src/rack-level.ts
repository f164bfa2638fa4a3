import { BinomialPipeline } from './binomial-pipeline.js';
import type { Neighbours, Transfer } from './transfer.js';

/**
 * The upper level of the hybrid schedule: the transfers between racks in each step. Several binomial pipelines
 * among the racks run in turn, so that a block leaves a rack `delay` + 1 steps after its arrival at
 * the earliest: see hybrid.ts. `from` and `to` of its transfers are numbers of racks.
 */
export class RackLevel {
  /** The step after the last one. */
  readonly end: number;
  private readonly turns: number;
  /** The pipelines that have one block more than the others, and the others. */
  private readonly longer: BinomialPipeline;
  private readonly shorter: BinomialPipeline | undefined;
  private readonly longerCount: number;

  constructor(
    racks: number,
    private readonly blocks: number,
    /** Steps until all members of a rack have a block. */
    private readonly delay: number,
  ) {
    this.turns = delay + 1;
    const whole = Math.floor(blocks / this.turns);
    const rest = blocks % this.turns;
    this.longerCount = rest === 0 ? this.turns : rest;
    this.longer = new BinomialPipeline(racks, rest === 0 ? whole : whole + 1);
    this.shorter = rest > 0 && whole > 0 ? new BinomialPipeline(racks, whole) : undefined;
    this.end = delay + (this.longer.steps - 1) * this.turns + this.longerCount;
  }

  outgoing(rack: number, step: number): Transfer | undefined {
    return this.find(rack, step, 'outgoing');
  }

  incoming(rack: number, step: number): Transfer | undefined {
    return this.find(rack, step, 'incoming');
  }

  neighbours(rack: number): Neighbours {
    return this.longer.neighbours(rack);
  }

  /** The step in which `rack` (not the root's) receives its first block. It does not depend on the blocks. */
  firstArrival(rack: number): number {
    return this.delay + this.longer.arrival(rack, 0) * this.turns;
  }

  /** Steps from the first block that comes into `rack` to the last one, including both. */
  positions(rack: number): number {
    const last = this.longerCount - 1;
    let latest = this.longer.arrival(rack, Math.ceil(this.blocks / this.turns) - 1) * this.turns + last;
    if (this.shorter) {
      const index = Math.floor(this.blocks / this.turns) - 1;
      latest = Math.max(latest, this.shorter.arrival(rack, index) * this.turns + this.turns - 1);
    }
    return this.delay + latest - this.firstArrival(rack) + 1;
  }

  /** The block that came into `rack` `position` steps after its first one, if any. */
  arrivedAt(rack: number, position: number): number | undefined {
    return this.incoming(rack, this.firstArrival(rack) + position)?.block;
  }

  private find(rack: number, step: number, which: 'outgoing' | 'incoming'): Transfer | undefined {
    const since = step - this.delay;
    if (since < 0) return undefined;
    const turn = since % this.turns;
    const pipeline = turn < this.longerCount ? this.longer : this.shorter;
    const own = (since - turn) / this.turns;
    if (!pipeline || own >= pipeline.steps) return undefined;
    const found = pipeline[which](rack, own);
    return found && { ...found, step, block: found.block * this.turns + turn };
  }
}
