import {
  NUDGE_AFTER_TICKS,
  NUDGE_AFTER_TICKS_JOINING,
  NUDGE_MAX_TICKS,
  NUDGE_TICK_MS,
  NUDGES_AT_ONCE,
} from '../constants.js';
import type { RosterEntry } from './roster.js';

export interface NudgesContext {
  /** Peers with higher ids that are not connected. */
  waiting(): readonly RosterEntry[];
  /** Shows this member to the peer, which connects then. Settles without an error. */
  show(entry: RosterEntry): Promise<void>;
}

/**
 * Shows this member to peers with higher ids that do not connect: they may not know it, because its introducer died before it
 * had told them; or their process was replaced and does not know that. Nothing is sent while new connections come.
 */
export class Nudges {
  readonly #context: NudgesContext;
  readonly #timer: NodeJS.Timeout;
  readonly #running = new Set<number>();
  #ticks = 0;
  #after = NUDGE_AFTER_TICKS_JOINING;
  #next = 0;

  constructor(context: NudgesContext, tickMs = NUDGE_TICK_MS) {
    this.#context = context;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
  }

  /** A connection was made: others follow. Many members that join at once on one machine take long. */
  connected(): void {
    this.#ticks = 0;
  }

  lost(): void {
    this.#ticks = 0;
    this.#after = NUDGE_AFTER_TICKS;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks < this.#after) return;
    this.#ticks = 0;
    this.#after = Math.min(2 * this.#after, NUDGE_MAX_TICKS);
    const waiting = this.#context.waiting();
    const count = Math.min(waiting.length, NUDGES_AT_ONCE);
    for (let index = 0; index < count; index += 1) {
      this.#next = (this.#next + 1) % waiting.length;
      this.#show(waiting[this.#next]!);
    }
  }

  #show(entry: RosterEntry): void {
    if (this.#running.has(entry.id)) return;
    this.#running.add(entry.id);
    void this.#context.show(entry).then(() => this.#running.delete(entry.id));
  }
}
