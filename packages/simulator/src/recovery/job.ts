import type { Clock } from '../clock.js';
import { Flow, Link } from '../flow.js';
import type { Network } from '../network.js';

/** Bytes over links, or microseconds of work on threads and processors; both are shared max-min fairly. */
class Job extends Flow {
  constructor(
    private readonly network: Network,
    path: readonly Link[],
    amount: number,
    private readonly done: () => void,
  ) {
    super(path, amount);
  }

  fire(): void {
    this.network.end(this);
    this.done();
  }
}

/** Starts a job. One without an amount, or without a link in its way, is done at once. */
export function start(network: Network, path: readonly Link[], amount: number, done: () => void): void {
  if (amount === 0 || path.length === 0) done();
  else network.start(new Job(network, path, amount, done));
}

/** A thread or a disk: does one job after the other, in the order of the calls. */
export class Stage {
  readonly #waiting: { readonly amount: number; readonly done: () => void }[] = [];
  #isBusy = false;
  #busySince = 0;
  /** Microseconds in which it had a job. */
  busy = 0;

  constructor(
    private readonly clock: Clock,
    private readonly network: Network,
    /** What a job needs at the same time. */
    private readonly path: readonly Link[],
  ) {}

  do(amount: number, done: () => void): void {
    this.#waiting.push({ amount, done });
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    const job = this.#waiting.shift();
    if (!job) return;
    this.#isBusy = true;
    this.#busySince = this.clock.now;
    start(this.network, this.path, job.amount, () => {
      this.busy += this.clock.now - this.#busySince;
      this.#isBusy = false;
      job.done();
      if (!this.#isBusy) this.#next();
    });
  }
}

/** A link of that capacity; none where it is infinite, because nothing waits for it. */
export function limit(name: string, capacity: number): Link[] {
  return Number.isFinite(capacity) ? [new Link(name, capacity)] : [];
}
