import { type Algorithm, createSchedule, type RackId } from '@rdmc/schedule';
import { KEPT_LENGTH, TransferList } from './transfer-list.js';

/** The sends and receives of one member for a message of some number of blocks. */
export interface MemberPlan {
  readonly sends: TransferList;
  readonly receives: TransferList;
}

/** The arguments of a schedule, except the number of blocks. */
export interface Topology {
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly rank: number;
  readonly racks?: readonly RackId[] | undefined;
}

/** The most plans that are kept, and the most transfers in all of these together. */
const KEPT_PLANS = 256;
const KEPT_TRANSFERS = 8 * KEPT_LENGTH;

/**
 * The plans of one member, by number of blocks. The last used ones are kept, unless they are very long. Groups with the same
 * topology and the same rank of this member may share them: a plan that is kept has no state of a reader.
 */
export class Plans {
  readonly #cache = new Map<number, MemberPlan>();
  /** The most transfers that the kept plans can have. */
  #kept = 0;
  readonly #pairs = new Map<number, number>();

  constructor(
    private readonly topology: Topology,
    /** Ranks of the neighbours; plans name them by index in this list. */
    neighbours: readonly number[],
  ) {
    neighbours.forEach((rank, pair) => {
      this.#pairs.set(rank, pair);
    });
  }

  /**
   * The neighbours whose first block of every message comes from this member, by index, ascending. They are those to which it
   * sends the only block of a message: a member's first sender does not depend on the number of blocks.
   */
  get led(): number[] {
    const { algorithm, nodes, rank, racks } = this.topology;
    const schedule = createSchedule({ algorithm, nodes, blocks: 1, racks });
    return Array.from(schedule.sends(rank), ({ to }) => this.#pairs.get(to)!).sort((a, b) => a - b);
  }

  for(blocks: number): MemberPlan {
    const known = this.#cache.get(blocks);
    if (known) {
      // Behind the others: the first one is the one that was used least recently.
      this.#cache.delete(blocks);
      this.#cache.set(blocks, known);
      return known;
    }
    const plan = this.#make(blocks);
    if (this.#keeps(blocks)) this.#keep(blocks, plan);
    return plan;
  }

  #keep(blocks: number, plan: MemberPlan): void {
    this.#cache.set(blocks, plan);
    this.#kept += this.#transfers(blocks);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= KEPT_PLANS && this.#kept <= KEPT_TRANSFERS) return;
      this.#cache.delete(oldest);
      this.#kept -= this.#transfers(oldest);
    }
  }

  #make(blocks: number): MemberPlan {
    const { algorithm, nodes, rank, racks } = this.topology;
    const schedule = createSchedule({ algorithm, nodes, blocks, racks });
    const keeps = this.#keeps(blocks);
    return {
      sends: new TransferList(schedule.sends(rank), ({ to }) => this.#pairs.get(to)!, keeps, blocks),
      receives: new TransferList(
        schedule.receives(rank),
        ({ from }) => this.#pairs.get(from)!,
        keeps,
        blocks,
      ),
    };
  }

  #keeps(blocks: number): boolean {
    return this.#transfers(blocks) <= KEPT_LENGTH;
  }

  /** At most: a member sends each block to each neighbour at most once, and receives each block once. */
  #transfers(blocks: number): number {
    return blocks * Math.max(1, this.#pairs.size);
  }
}
