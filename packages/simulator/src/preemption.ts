import type { Random } from './random.js';

/** The system takes a host's processor away for a while. */
export interface Preemption {
  /** The node of the host: 0 to `nodes` − 1. */
  readonly node: number;
  /** Its begin, in microseconds of simulated time, from 0. */
  readonly at: number;
  /** Its length in microseconds, from 0. */
  readonly lasts: number;
}

/** Preemptions at random times, of a Poisson process at each host. */
export interface PreemptionRate {
  /** Mean number per second of simulated time, above 0. */
  readonly perSecond: number;
  /** The length of each, in microseconds. */
  readonly lasts: number;
}

/** The preemptions of one host, in order of time. Times are asked for in ascending order. */
export class Preemptions {
  readonly #scripted: Preemption[];
  #randomAt: number;

  constructor(
    scripted: readonly Preemption[],
    private readonly rate: PreemptionRate | undefined,
    private readonly random: Random,
  ) {
    this.#scripted = [...scripted].sort((a, b) => a.at - b.at);
    this.#randomAt = rate === undefined ? Number.POSITIVE_INFINITY : this.#gap(rate);
  }

  /** When work that is ready at `time` starts: later if the processor is away then. */
  start(time: number): number {
    if (this.#nextAt > time) return time;
    let start = time;
    for (let next = this.#next(); next.at <= start; next = this.#next()) {
      this.#take(next.at);
      start = Math.max(start, next.at + next.lasts);
    }
    return start;
  }

  /** When work that starts at `time` and needs `cost` ends: each preemption in between adds its length. */
  end(time: number, cost: number): number {
    let end = time + cost;
    if (this.#nextAt >= end) return end;
    for (let next = this.#next(); next.at < end; next = this.#next()) {
      this.#take(next.at);
      end += next.lasts;
    }
    return end;
  }

  get #nextAt(): number {
    return Math.min(this.#scripted[0]?.at ?? Number.POSITIVE_INFINITY, this.#randomAt);
  }

  #next(): { readonly at: number; readonly lasts: number } {
    const scripted = this.#scripted[0];
    if (scripted && scripted.at <= this.#randomAt) return scripted;
    return { at: this.#randomAt, lasts: this.rate?.lasts ?? 0 };
  }

  #take(at: number): void {
    if (this.#scripted[0]?.at === at) this.#scripted.shift();
    else if (this.rate) this.#randomAt = at + this.rate.lasts + this.#gap(this.rate);
  }

  #gap(rate: PreemptionRate): number {
    return this.random.exponential(1e6 / rate.perSecond);
  }
}
