/*
 * The hybrid schedule (RDMC, DSN 2018, section 4.3): a binomial pipeline among the racks and one in each rack,
 * overlapping. No member sends or receives more than one block in a step, and each rack's uplink carries one
 * block in and one block out per step, so a long message takes one step per block, as in the flat pipeline,
 * which crosses the uplinks log2(m) times as often.
 *
 * The paper's leaders would send every block twice, into the rack and on to the next rack. Here a rack's *leader*
 * receives blocks from outside and sends them into its rack; the idle member of the step sends blocks out. One member
 * is always idle: in each step of a rack's pipeline one member faces the leader, and the leader does not lack a block.
 *
 *        outside ──▶ leader ══▶ pipeline of the rack ══▶ idle member of the step ──▶ another rack's leader
 *
 * All members of a rack must have a block before it goes out. That takes a rack of m members d steps: 0 for m = 1,
 * log2 m for a power of two, floor(log2 m) + 2 otherwise. Let λ be the largest d and D = λ + 1. The racks' level
 * runs D pipelines in turn: block b belongs to number b mod D, whose step J takes place in the whole schedule's step
 * λ + J D + (b mod D). So a block that came into a rack goes out D steps later at the earliest.
 *
 *   step              0 … λ−1    λ           λ+1         …    λ+D         …
 *   racks' level                 0 of no. 0  0 of no. 1       1 of no. 0
 *   the root's rack   0 …        λ …
 *   another rack                             0 (if the first block came in step λ) …
 *
 * Rack pipelines use positions, not blocks: position p is the block that the leader received p steps after its first
 * block; a position may be empty. The root's rack starts in step 0; its positions are the blocks.
 *
 * If m is not a power of two, all twins swap their last blocks in the last step of the rack's pipeline, and no
 * member is idle: the member that has to send out in that step swaps one step later.
 *
 * With G racks of m members, both powers of two, L = log2 G and l = log2 m, and blocks a multiple of D, it takes
 * k + (L + 1)(l + 1) − 2 steps.
 */
import { BinomialPipeline } from './binomial-pipeline.js';
import { ceilLog2, floorLog2 } from './bits.js';
import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import { RackLevel } from './rack-level.js';
import { RackPipeline } from './rack-pipeline.js';
import { type RackId, Racks } from './racks.js';
import type { Neighbours, Transfer } from './transfer.js';

export function hybrid(nodes: number, blocks: number, ids: readonly RackId[]): Plan {
  const racks = new Racks(ids);
  const count = racks.members.length;
  // With one rack, or one member per rack, there is one level only.
  return count === 1 || count === nodes
    ? new BinomialPipeline(nodes, blocks)
    : new Hybrid(nodes, blocks, racks);
}

class Hybrid implements Plan {
  readonly steps: number;
  private readonly top: RackLevel;
  private readonly inside: RackPipeline[];

  constructor(
    private readonly nodes: number,
    blocks: number,
    private readonly racks: Racks,
  ) {
    const sizes = racks.members.map((members) => members.length);
    const slowest = sizes.reduce((most, size) => Math.max(most, spreadSteps(size)), 0);
    this.top = new RackLevel(sizes.length, blocks, slowest);
    this.inside = sizes.map((size, rack) =>
      rack === 0
        ? new RackPipeline(size, blocks, 0)
        : new RackPipeline(size, this.top.positions(rack), this.top.firstArrival(rack) + 1),
    );
    this.steps = this.inside.reduce((most, { end }) => Math.max(most, end), this.top.end);
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    const rack = this.racks.rackOf[rank]!;
    const position = this.racks.positionOf[rank]!;
    const found = this.inside[rack]!.outgoing(position, step);
    if (found) return this.named(rack, found, step);
    if (this.inside[rack]!.sendsOut(step) !== position) return undefined;
    const out = this.top.outgoing(rack, step);
    return out && { step, from: rank, to: this.racks.leader(out.to), block: out.block };
  }

  incoming(rank: number, step: number): Transfer | undefined {
    const rack = this.racks.rackOf[rank]!;
    const position = this.racks.positionOf[rank]!;
    if (position > 0) {
      const found = this.inside[rack]!.incoming(position, step);
      return found && this.named(rack, found, step);
    }
    const found = this.top.incoming(rack, step);
    return found && { step, from: this.sender(found.from, step), to: rank, block: found.block };
  }

  senders(): Iterable<number> {
    return range(0, this.nodes);
  }

  sendRange(): StepRange {
    return { start: 0, end: this.steps };
  }

  receiveRange(rank: number): StepRange {
    return rank === 0 ? NO_STEPS : { start: 0, end: this.steps };
  }

  neighbours(rank: number): Neighbours {
    const rack = this.racks.rackOf[rank]!;
    const members = this.racks.members[rack]!;
    const position = this.racks.positionOf[rank]!;
    const inner = this.inside[rack]!.neighbours(position);
    const top = this.top.neighbours(rack);
    const name = (other: number) => members[other]!;
    const goesOut = this.inside[rack]!.allThatSendOut().includes(position);
    const outside = goesOut ? top.sendsTo.map((other) => this.racks.leader(other)) : [];
    const sendsTo = ascending([...inner.sendsTo.map(name), ...outside]);
    if (position > 0) {
      const firstFrom = name(inner.firstFrom!);
      return { sendsTo, receivesFrom: ascending(inner.receivesFrom.map(name)), firstFrom };
    }
    const receivesFrom = top.receivesFrom.flatMap((other) =>
      this.inside[other]!.allThatSendOut().map((sender) => this.racks.members[other]![sender]!),
    );
    const firstFrom = rack === 0 ? undefined : this.sender(top.firstFrom!, this.top.firstArrival(rack));
    return { sendsTo, receivesFrom: ascending(receivesFrom), firstFrom };
  }

  /** The rank that sends out of `rack` in `step`. */
  private sender(rack: number, step: number): number {
    return this.racks.members[rack]![this.inside[rack]!.sendsOut(step)]!;
  }

  /** A transfer between positions of a rack; `undefined` if the position is empty. */
  private named(rack: number, { from, to, block: position }: Transfer, step: number): Transfer | undefined {
    const block = rack === 0 ? position : this.top.arrivedAt(rack, position);
    if (block === undefined) return undefined;
    const members = this.racks.members[rack]!;
    return { step, from: members[from]!, to: members[to]!, block };
  }
}

/** The steps from the first transfer of a block in a rack's pipeline until all members of the rack have it. */
function spreadSteps(size: number): number {
  return ceilLog2(size) + (2 ** floorLog2(size) === size ? 0 : 1);
}

function ascending(ranks: number[]): number[] {
  return ranks.sort((a, b) => a - b);
}
