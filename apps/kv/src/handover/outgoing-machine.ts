import type { Outcome } from './handover-rules.js';

/** What the machine has its server do. */
export interface OutgoingPort {
  /** Does not serve the slots any more, and finishes what was begun; then calls `stopped`. */
  stop(): void;
  /** Sends the rest, and has the target finish; then calls `finished`. */
  finish(): void;
  /** Asks the coordinator until it answers, and calls `answered`. */
  settle(isReady: boolean): void;
  /** The slots are served again. */
  resume(): void;
  /** Another server has the slots. */
  release(): void;
}

export type OutgoingState = 'copying' | 'stopping' | 'finishing' | 'settling' | 'kept' | 'moved';

/**
 * The source of a hand-over. A failure before it stops ends it at once. From then on only the coordinator's answer lets it serve
 * the slots again: the target may have them by then, and nothing that is known here tells.
 */
export class OutgoingMachine {
  #state: OutgoingState = 'copying';

  constructor(private readonly port: OutgoingPort) {}

  get state(): OutgoingState {
    return this.#state;
  }

  /** Whether this server serves the slots. */
  get serves(): boolean {
    return this.#state === 'copying' || this.#state === 'kept';
  }

  /** The target has all but the latest changes. */
  copied(): void {
    if (this.#state !== 'copying') return;
    this.#state = 'stopping';
    this.port.stop();
  }

  /** No append to these slots is under way any more. */
  stopped(): void {
    if (this.#state !== 'stopping') return;
    this.#state = 'finishing';
    this.port.finish();
  }

  /** The target has everything durably. */
  finished(): void {
    if (this.#state !== 'finishing') return;
    this.#state = 'settling';
    this.port.settle(true);
  }

  /** The target cannot have everything. */
  failed(): void {
    if (this.#state === 'copying') this.#state = 'kept';
    else if (this.#state === 'stopping' || this.#state === 'finishing') {
      this.#state = 'settling';
      this.port.settle(false);
    }
  }

  /** The coordinator has answered. */
  answered(outcome: Outcome): void {
    if (this.#state !== 'settling') return;
    this.#state = outcome;
    if (outcome === 'moved') this.port.release();
    else this.port.resume();
  }
}
