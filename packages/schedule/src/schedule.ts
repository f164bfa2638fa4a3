import { isWholeNumber } from '@rdmc/common/checks';
import type { Algorithm } from './algorithms.js';
import { BinomialPipeline } from './binomial-pipeline.js';
import { BinomialTree } from './binomial-tree.js';
import { Chain } from './chain.js';
import { ScheduleError, shown } from './errors.js';
import { hybrid } from './hybrid.js';
import { checkOptions, type ScheduleOptions } from './options.js';
import type { Plan } from './plan.js';
import type { RackId } from './racks.js';
import { Sequential } from './sequential.js';
import type { Neighbours, RankPart, Transfer } from './transfer.js';

/**
 * The transfers of a multicast: sender, receiver and block in each step. A pure function of (algorithm, nodes, blocks,
 * racks): members that agree on these do not need to exchange anything else. Rank 0 is the root.
 *
 * In each step a member sends at most one block and receives at most one, and sends only a block that it had before
 * that step. Steps order a member's own sends and its own receives; members do not wait for the steps of others,
 * only for blocks.
 */
export interface Schedule {
  /** The option `algorithm`. */
  readonly algorithm: Algorithm;
  /** Members, the root included. */
  readonly nodes: number;
  /** Blocks of the message. */
  readonly blocks: number;
  /** The option `racks`, or `undefined`. */
  readonly racks: readonly RackId[] | undefined;
  /** Number of steps. */
  readonly steps: number;
  /** Every transfer, in step order and by sender within a step; computed lazily. */
  transfers(): IterableIterator<Transfer>;
  /** The transfers of one step, by sender. @throws ScheduleError ERR_RDMC_INVALID_STEP */
  at(step: number): IterableIterator<Transfer>;
  /**
   * The sends and receives of one member, in time and memory proportional to their number.
   * @throws ScheduleError ERR_RDMC_INVALID_RANK
   */
  rank(rank: number): RankPart;
  /**
   * The sends of one member from step `fromStep` (default 0) on, in step order; computed lazily.
   * @throws ScheduleError ERR_RDMC_INVALID_RANK, ERR_RDMC_INVALID_STEP
   */
  sends(rank: number, fromStep?: number): IterableIterator<Transfer>;
  /** The same for the receives of one member. */
  receives(rank: number, fromStep?: number): IterableIterator<Transfer>;
  /**
   * The members with which one member exchanges blocks, for any number of blocks. Connect them before the first
   * message. O(log nodes), except for the root of 'sequential', which has nodes − 1 neighbours.
   * @throws ScheduleError ERR_RDMC_INVALID_RANK
   */
  neighbours(rank: number): Neighbours;
}

/**
 * Creates a schedule. This is cheap: transfers are computed on demand.
 *
 * @throws ScheduleError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_UNKNOWN_ALGORITHM, ERR_RDMC_INVALID_NODES,
 * ERR_RDMC_INVALID_BLOCKS, ERR_RDMC_INVALID_RACKS
 */
export function createSchedule(options: ScheduleOptions): Schedule {
  checkOptions(options);
  return new PlannedSchedule(options);
}

class PlannedSchedule implements Schedule {
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly blocks: number;
  readonly racks: readonly RackId[] | undefined;
  readonly steps: number;
  readonly #plan: Plan;

  constructor({ algorithm, nodes, blocks, racks }: ScheduleOptions) {
    this.algorithm = algorithm;
    this.nodes = nodes;
    this.blocks = blocks;
    this.racks = racks && Object.freeze([...racks]);
    this.#plan = planFor(algorithm, nodes, blocks, this.racks);
    this.steps = this.#plan.steps;
  }

  *transfers(): Generator<Transfer, void, undefined> {
    for (let step = 0; step < this.steps; step += 1) yield* this.#at(step);
  }

  at(step: number): Generator<Transfer, void, undefined> {
    this.#checkStep(step);
    return this.#at(step);
  }

  rank(rank: number): RankPart {
    return { sends: [...this.sends(rank)], receives: [...this.receives(rank)] };
  }

  sends(rank: number, fromStep = 0): Generator<Transfer, void, undefined> {
    this.#checkRank(rank);
    if (fromStep !== 0) this.#checkStep(fromStep);
    return this.#sends(rank, fromStep);
  }

  receives(rank: number, fromStep = 0): Generator<Transfer, void, undefined> {
    this.#checkRank(rank);
    if (fromStep !== 0) this.#checkStep(fromStep);
    return this.#receives(rank, fromStep);
  }

  neighbours(rank: number): Neighbours {
    this.#checkRank(rank);
    return this.#plan.neighbours(rank);
  }

  *#at(step: number): Generator<Transfer, void, undefined> {
    for (const rank of this.#plan.senders(step)) {
      const transfer = this.#plan.outgoing(rank, step);
      if (transfer) yield transfer;
    }
  }

  *#sends(rank: number, fromStep: number): Generator<Transfer, void, undefined> {
    const { start, end } = this.#plan.sendRange(rank);
    for (let step = Math.max(start, fromStep); step < end; step += 1) {
      const transfer = this.#plan.outgoing(rank, step);
      if (transfer) yield transfer;
    }
  }

  *#receives(rank: number, fromStep: number): Generator<Transfer, void, undefined> {
    const { start, end } = this.#plan.receiveRange(rank);
    for (let step = Math.max(start, fromStep); step < end; step += 1) {
      const transfer = this.#plan.incoming(rank, step);
      if (transfer) yield transfer;
    }
  }

  #checkRank(rank: number): void {
    if (isWholeNumber(rank, 0, this.nodes - 1)) return;
    const message = `rank is ${shown(rank)}: the ranks of this schedule are 0 to ${this.nodes - 1}`;
    throw new ScheduleError('ERR_RDMC_INVALID_RANK', message);
  }

  #checkStep(step: number): void {
    if (isWholeNumber(step, 0, this.steps - 1)) return;
    const message = `step is ${shown(step)}: the steps of this schedule are 0 to ${this.steps - 1}`;
    throw new ScheduleError('ERR_RDMC_INVALID_STEP', message);
  }
}

function planFor(
  algorithm: Algorithm,
  nodes: number,
  blocks: number,
  racks: readonly RackId[] | undefined,
): Plan {
  switch (algorithm) {
    case 'sequential':
      return new Sequential(nodes, blocks);
    case 'chain':
      return new Chain(nodes, blocks);
    case 'binomial-tree':
      return new BinomialTree(nodes, blocks);
    case 'binomial-pipeline':
      return new BinomialPipeline(nodes, blocks);
    case 'hybrid':
      return hybrid(nodes, blocks, racks!);
  }
}
