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

const CACHED_PLANS = 8;

/** The plans of one member, by number of blocks. The last used ones are kept, unless they are very long. */
export class Plans {
  readonly #cache = new Map<number, MemberPlan>();
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

  /** The neighbours whose first block of every message comes from this member, by index. */
  get led(): number[] {
    const { algorithm, nodes, rank, racks } = this.topology;
    const schedule = createSchedule({ algorithm, nodes, blocks: 1, racks });
    return [...this.#pairs].flatMap(([peer, pair]) =>
      schedule.neighbours(peer).firstFrom === rank ? [pair] : [],
    );
  }

  for(blocks: number): MemberPlan {
    const known = this.#cache.get(blocks);
    this.#cache.delete(blocks);
    const plan = known ?? this.#make(blocks);
    if (known || this.#keeps(blocks)) this.#cache.set(blocks, plan);
    if (this.#cache.size > CACHED_PLANS) this.#cache.delete(this.#cache.keys().next().value!);
    return plan;
  }

  #make(blocks: number): MemberPlan {
    const { algorithm, nodes, rank, racks } = this.topology;
    const schedule = createSchedule({ algorithm, nodes, blocks, racks });
    const keeps = this.#keeps(blocks);
    return {
      sends: new TransferList(schedule.sends(rank), ({ to }) => this.#pairs.get(to)!, keeps),
      receives: new TransferList(schedule.receives(rank), ({ from }) => this.#pairs.get(from)!, keeps),
    };
  }

  /** A member sends each block to each neighbour at most once, and receives each block once. */
  #keeps(blocks: number): boolean {
    return blocks * Math.max(1, this.#pairs.size) <= KEPT_LENGTH;
  }
}
