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
  private current: OutgoingState = 'copying';

  constructor(private readonly port: OutgoingPort) {}

  get state(): OutgoingState {
    return this.current;
  }

  /** Whether this server serves the slots. */
  get serves(): boolean {
    return this.current === 'copying' || this.current === 'kept';
  }

  /** The target has all but the latest changes. */
  copied(): void {
    if (this.current !== 'copying') return;
    this.current = 'stopping';
    this.port.stop();
  }

  /** No append to these slots is under way any more. */
  stopped(): void {
    if (this.current !== 'stopping') return;
    this.current = 'finishing';
    this.port.finish();
  }

  /** The target has everything durably. */
  finished(): void {
    if (this.current !== 'finishing') return;
    this.current = 'settling';
    this.port.settle(true);
  }

  /** The target cannot have everything. */
  failed(): void {
    if (this.current === 'copying') this.current = 'kept';
    else if (this.current === 'stopping' || this.current === 'finishing') {
      this.current = 'settling';
      this.port.settle(false);
    }
  }

  /** The coordinator has answered. */
  answered(outcome: Outcome): void {
    if (this.current !== 'settling') return;
    this.current = outcome;
    if (outcome === 'moved') this.port.release();
    else this.port.resume();
  }
}
