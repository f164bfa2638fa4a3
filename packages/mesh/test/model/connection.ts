import type { Verdict } from '../../src/live/membership.js';
import type { RosterDelta } from '../../src/live/roster.js';

export type Frame =
  | { readonly type: 'message'; readonly epoch: number; readonly instance: string }
  | { readonly type: 'roster'; readonly news: RosterDelta; readonly isWhole: boolean }
  | { readonly type: 'stop'; readonly verdict: Verdict }
  | { readonly type: 'leave' }
  | { readonly type: 'end' };

/** An end of a connection. `queue` is on its way to this end. */
export interface End {
  readonly process: number;
  queue: Frame[];
  isOpen: boolean;
}

function endOf(process: number): End {
  return { process, queue: [], isOpen: true };
}

/** From the HELLO to the end of both sides. `ends` are the calling one (side 0) and the called one (side 1). */
export class Connection {
  stage: 'called' | 'confirmed' | 'up' = 'called';
  readonly ends: readonly [End, End];

  constructor(
    readonly epoch: number,
    caller: number,
    called: number,
  ) {
    this.ends = [endOf(caller), endOf(called)];
  }

  get isOpen(): boolean {
    return this.ends.some(({ isOpen }) => isOpen);
  }

  get isQuiet(): boolean {
    return this.ends.every(({ queue }) => queue.length === 0);
  }

  /** The side of that process; -1: none of them is its own. */
  sideOf(process: number): number {
    return this.ends.findIndex((end) => end.process === process);
  }

  /** Whether that side uses the connection. */
  isUp(side: number): boolean {
    const isReady = this.stage === 'up' || (this.stage === 'confirmed' && side === 0);
    return this.ends[side]!.isOpen && isReady;
  }

  /** That side sends a frame. It does not change any more, so that copies of this connection share it. */
  send(side: number, frame: Frame): void {
    this.ends[1 - side]!.queue.push(Object.freeze(frame));
  }

  close(side: number): void {
    const end = this.ends[side]!;
    if (!end.isOpen) return;
    end.isOpen = false;
    end.queue = [];
    // An attempt that is not complete is gone for both.
    if (this.stage === 'called') this.ends[1 - side]!.isOpen = false;
    else this.send(side, { type: 'end' });
  }

  /** Ends both sides at once. */
  abandon(): void {
    for (const end of this.ends) end.isOpen = false;
  }
}
