/*
 * The hybrid schedule (RDMC, DSN 2018, section 4.3): a binomial pipeline among the racks' leaders and one
 * in each rack, overlapping. A leader has one port: it may send one block and receive one block per step,
 * so the two levels take turns.
 *
 * With G racks, L = ceil(log2 G), m the size of the largest rack and l = ceil(log2 m):
 *
 *   step      0 … L−1     L      L+1    L+2    …   L+2k−3    L+2k−2    L+2k−1 …
 *   leaders   0 … L−1            L             …   L+k−2
 *   racks                 0             1      …             k−1       k      …  k+l−2
 *
 * that is L + l + 2k − 2 steps in all. For k = 1 it is the L + l of two binomial trees; for long messages
 * it is 2k, and a leader that relays each block once out of its rack and once into it needs as many.
 *
 * Blocks reach a leader out of order. Its rack's pipeline does not care what its blocks are called, so the
 * rack's block number i is simply the i-th one, from 0, that the leader received. That was in leaders' step
 * L − 1 + i at the latest, which comes before the racks' step i.
 */
import { BinomialPipeline } from './binomial-pipeline.js';
import { ceilLog2 } from './bits.js';
import { NO_STEPS, type Plan, range, type StepRange } from './plan.js';
import { type RackId, Racks } from './racks.js';
import type { Neighbours, Transfer } from './transfer.js';

/** Where a step belongs: `step` counts within the level. */
interface Turn {
  readonly leaders: boolean;
  readonly step: number;
}

export function hybrid(nodes: number, blocks: number, ids: readonly RackId[]): Plan {
  const racks = new Racks(ids);
  const count = racks.members.length;
  // One rack, or no rack with a second member: there is one level only, and nothing to take turns with.
  return count === 1 || count === nodes
    ? new BinomialPipeline(nodes, blocks)
    : new Hybrid(nodes, blocks, racks);
}

class Hybrid implements Plan {
  readonly steps: number;
  private readonly top: BinomialPipeline;
  /** L of the drawing above. */
  private readonly lead: number;
  /** The pipeline of each rack, `undefined` for a rack of one; racks of equal size share one. */
  private readonly inner: (BinomialPipeline | undefined)[];

  constructor(
    private readonly nodes: number,
    private readonly blocks: number,
    private readonly racks: Racks,
  ) {
    const sizes = racks.members.map((members) => members.length);
    const bySize = new Map<number, BinomialPipeline>();
    for (const size of sizes) if (size > 1) bySize.set(size, new BinomialPipeline(size, blocks));
    this.inner = sizes.map((size) => bySize.get(size));
    this.top = new BinomialPipeline(sizes.length, blocks);
    this.lead = ceilLog2(sizes.length);
    const deepest = sizes.reduce((most, size) => Math.max(most, ceilLog2(size)), 0);
    this.steps = this.lead + deepest + 2 * blocks - 2;
  }

  outgoing(rank: number, step: number): Transfer | undefined {
    return this.find(rank, step, 'outgoing');
  }

  incoming(rank: number, step: number): Transfer | undefined {
    return this.find(rank, step, 'incoming');
  }

  senders(step: number): Iterable<number> {
    if (this.turn(step).leaders) return this.racks.members.map((members) => members[0]!);
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
    const inner = this.inner[rack]?.neighbours(position);
    const top = position === 0 ? this.top.neighbours(rack) : undefined;
    const first = position === 0 ? top!.firstFrom : inner!.firstFrom;
    const name =
      position === 0 ? (other: number) => this.racks.leader(other) : (other: number) => members[other]!;
    return {
      sendsTo: this.named(members, inner?.sendsTo, top?.sendsTo),
      receivesFrom: this.named(members, inner?.receivesFrom, top?.receivesFrom),
      firstFrom: first === undefined ? undefined : name(first),
    };
  }

  private named(members: number[], inside: number[] = [], racks: number[] = []): number[] {
    const ranks = [
      ...inside.map((position) => members[position]!),
      ...racks.map((rack) => this.racks.leader(rack)),
    ];
    return ranks.sort((a, b) => a - b);
  }

  private turn(step: number): Turn {
    const since = step - this.lead;
    if (since < 0) return { leaders: true, step };
    if (since > 2 * (this.blocks - 1)) return { leaders: false, step: since - this.blocks + 1 };
    return since % 2 === 0
      ? { leaders: false, step: since / 2 }
      : { leaders: true, step: this.lead + (since - 1) / 2 };
  }

  private find(rank: number, step: number, which: 'outgoing' | 'incoming'): Transfer | undefined {
    const turn = this.turn(step);
    const rack = this.racks.rackOf[rank]!;
    const position = this.racks.positionOf[rank]!;
    if (turn.leaders) {
      if (position !== 0) return undefined;
      const found = this.top[which](rack, turn.step);
      return (
        found && { ...found, step, from: this.racks.leader(found.from), to: this.racks.leader(found.to) }
      );
    }
    const inner = this.inner[rack];
    if (!inner || turn.step >= inner.steps) return undefined;
    const found = inner[which](position, turn.step);
    if (!found) return undefined;
    const members = this.racks.members[rack]!;
    return { step, from: members[found.from]!, to: members[found.to]!, block: this.nth(rack, found.block) };
  }

  /** The block that the leader of `rack` received as its `index`-th. */
  private nth(rack: number, index: number): number {
    return rack === 0 ? index : this.top.incoming(rack, this.top.arrival(rack, index))!.block;
  }
}
