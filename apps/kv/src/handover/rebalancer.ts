import { setTimeout as delay } from 'node:timers/promises';
import { codeOf, messageOf } from '../errors.js';
import { HANDOVER_MAX_REST_MS, HANDOVER_REST, HANDOVER_RETRY_MS } from '../limits.js';
import type { Move } from './hand-overs.js';
import { type Layout, nextMove } from './next-move.js';

export interface RebalancerOptions {
  /** Hands slots over; resolves when the target has them. */
  readonly run: (move: Move) => Promise<void>;
  /** Undefined: a server with slots is not here, or is being recovered. */
  readonly layout: () => Promise<Layout | undefined>;
  /** Keeps durably whether slots are to move: another coordinator goes on then. */
  readonly keep: (isMoving: boolean) => Promise<void>;
  readonly ended: AbortSignal;
  readonly onMoved?: ((move: Move) => void) | undefined;
  /** Each server has its share. */
  readonly onBalanced?: (() => void) | undefined;
  readonly onFailed?: ((move: Move, failure: Failure) => void) | undefined;
}

export interface Failure {
  readonly code: string;
  readonly reason: string;
}

/** The target does not have room, and another attempt would not change that. */
const FULL: readonly string[] = ['ERR_RDMC_KV_SERVER_FULL', 'ERR_RDMC_LOG_FULL'];

/**
 * Hands slots over, some at a time, until each server has its share. One hand-over at a time. Where its coordinator ends before that, the
 * next one goes on.
 */
export class Rebalancer {
  #isRunning = false;
  #isAskedAgain = false;
  /** Of the last attempt, where it failed; or why servers do not have their shares at the end. */
  #failure: Failure | undefined;
  /** Servers without room: the others go on, until an operator asks, or a server comes. */
  readonly #full = new Set<number>();
  /** Of the last one of them. */
  #refusal: Failure | undefined;
  /** Slots that were handed over in this run of the coordinator. */
  #moved = 0;

  constructor(private readonly options: RebalancerOptions) {}

  get facts(): { isRunning: boolean; moved: number; failure: Failure | undefined } {
    return { isRunning: this.#isRunning, moved: this.#moved, failure: this.#failure };
  }

  /** Has no effect where it runs; then it looks once more before it ends. */
  start(): void {
    this.#isAskedAgain = true;
    this.#full.clear();
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#failure = undefined;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  async #run(): Promise<void> {
    const { ended } = this.options;
    while (!ended.aborted) {
      this.#isAskedAgain = false;
      const began = performance.now();
      const outcome = await this.#step().catch((error: unknown) => this.#failed(undefined, error));
      if (outcome === 'end' && !this.#isAskedAgain) return;
      // Commands come first: the busier the servers are, the longer a hand-over takes, and the longer is the rest after it.
      const restMs = Math.min(HANDOVER_MAX_REST_MS, HANDOVER_REST * (performance.now() - began));
      const waitMs = outcome === 'wait' ? HANDOVER_RETRY_MS : restMs;
      await delay(waitMs, undefined, { signal: ended }).catch(() => {});
    }
  }

  async #step(): Promise<'next' | 'wait' | 'end'> {
    const layout = await this.options.layout();
    if (layout === undefined) return 'wait';
    const move = nextMove(layout, this.#full);
    if (move === undefined) {
      await this.options.keep(false);
      const isBalanced = nextMove(layout) === undefined;
      // Servers without room have too few: an operator must act first.
      this.#failure = isBalanced ? undefined : this.#refusal;
      if (isBalanced) this.options.onBalanced?.();
      return 'end';
    }
    await this.options.keep(true);
    try {
      await this.options.run(move);
      this.#failure = undefined;
      this.#moved += move.slots.length;
      this.options.onMoved?.(move);
      return 'next';
    } catch (error) {
      return this.#failed(move, error);
    }
  }

  #failed(move: Move | undefined, error: unknown): 'next' | 'wait' | 'end' {
    const failure = { code: codeOf(error), reason: messageOf(error) };
    const isFull = move !== undefined && FULL.includes(failure.code);
    if (!isFull) this.#failure = failure;
    if (this.options.ended.aborted) return 'end';
    if (move) this.options.onFailed?.(move, failure);
    if (!isFull) return 'wait';
    this.#full.add(move.target.member);
    this.#refusal = failure;
    return 'next';
  }
}
