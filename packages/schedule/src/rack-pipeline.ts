import { BinomialPipeline } from './binomial-pipeline.js';
import { floorLog2 } from './bits.js';
import type { Neighbours, Transfer } from './transfer.js';

const ALONE: Neighbours = { sendsTo: [], receivesFrom: [], firstFrom: undefined };

/**
 * The lower level of the hybrid schedule: the pipeline of one rack, in the steps of the whole schedule. A member is
 * its position in the rack, 0 for the leader. A "block" of this pipeline is a position in time: see hybrid.ts.
 */
export class RackPipeline {
  /** The step after the last one. */
  readonly end: number;
  /** `undefined` for a rack of one. */
  private readonly pipeline: BinomialPipeline | undefined;
  /** Its last step, in which all twins swap; infinite if there are no twins. */
  private readonly swap: number = Number.POSITIVE_INFINITY;

  constructor(
    private readonly size: number,
    positions: number,
    /** The step of the whole schedule in which this pipeline begins. */
    private readonly start: number,
  ) {
    if (size === 1) {
      this.end = 0;
      return;
    }
    this.pipeline = new BinomialPipeline(size, positions);
    const steps = this.pipeline.steps;
    if (2 ** floorLog2(size) !== size) this.swap = steps - 1;
    const late = this.swap < steps && this.pipeline.outgoing(this.pipeline.idle(this.swap), this.swap);
    this.end = start + steps + (late ? 1 : 0);
  }

  outgoing(member: number, step: number): Transfer | undefined {
    const own = step - this.start;
    if (own === this.swap + 1)
      return this.isLate(member) ? this.pipeline!.outgoing(member, own - 1) : undefined;
    if (own === this.swap && this.isLate(member)) return undefined;
    return this.inRange(own) ? this.pipeline!.outgoing(member, own) : undefined;
  }

  incoming(member: number, step: number): Transfer | undefined {
    const own = step - this.start;
    if (own < this.swap || !this.pipeline) {
      return this.inRange(own) ? this.pipeline!.incoming(member, own) : undefined;
    }
    if (own > this.swap + 1) return undefined;
    const found = this.pipeline.incoming(member, this.swap);
    return found && this.isLate(found.from) === own > this.swap ? found : undefined;
  }

  neighbours(member: number): Neighbours {
    return this.pipeline?.neighbours(member) ?? ALONE;
  }

  /** The member that may send out of the rack in `step`. */
  sendsOut(step: number): number {
    return this.pipeline ? this.pipeline.idle(Math.max(0, step - this.start)) : 0;
  }

  /** Every member that may ever send out of the rack. */
  allThatSendOut(): number[] {
    if (!this.pipeline) return [0];
    // The idle member depends only on the dimension and on the parity of the turn.
    const turns = 2 * floorLog2(this.size);
    const members = Array.from({ length: turns }, (_, own) => this.pipeline!.idle(own));
    return [...new Set(members)].sort((a, b) => a - b);
  }

  private inRange(own: number): boolean {
    return this.pipeline !== undefined && own >= 0 && own < this.pipeline.steps;
  }

  /** Whether `member` swaps one step after the others, because it may have to send out of the rack. */
  private isLate(member: number): boolean {
    return this.pipeline!.idle(this.swap) === member;
  }
}
