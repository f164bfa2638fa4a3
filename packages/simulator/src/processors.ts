import type { Clock, Timer } from './clock.js';

/** Processors that the threads of all hosts share, first come, first served. */
export class Processors {
  readonly #waiting: Timer[] = [];
  #free: number;

  constructor(
    private readonly clock: Clock,
    count: number,
  ) {
    this.#free = count;
  }

  /** Takes a processor. If none is free, it returns false, and the timer fires when it has one. */
  take(timer: Timer): boolean {
    if (this.#free === 0) {
      this.#waiting.push(timer);
      return false;
    }
    this.#free -= 1;
    return true;
  }

  /** Gives a processor to the timer that waits longest, if one waits. */
  give(): void {
    const next = this.#waiting.shift();
    if (next) this.clock.schedule(next, this.clock.now);
    else this.#free += 1;
  }
}
