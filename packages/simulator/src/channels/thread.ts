import { Call, type Clock } from '../clock.js';

/** A thread that does one piece of work after the other. */
export class Thread {
  #freeAt = 0;
  /** Microseconds of work so far. */
  busy = 0;

  constructor(private readonly clock: Clock) {}

  /** Does work of this length when the earlier work is done, and then the action. */
  work(microseconds: number, action: () => void): void {
    this.busy += microseconds;
    this.#freeAt = Math.max(this.#freeAt, this.clock.now) + microseconds;
    this.clock.schedule(new Call(action), this.#freeAt);
  }

  get isIdle(): boolean {
    return this.#freeAt <= this.clock.now;
  }
}
