import type { GroupRun } from './group-run.js';

/** Sends the objects of a load in their order: the next one when an earlier one is complete at all its members. */
export class ObjectQueue {
  #next = 0;

  constructor(
    private readonly runs: readonly GroupRun[],
    /** The group of each object. */
    private readonly order: readonly number[],
  ) {
    for (const run of runs) run.messageComplete = () => this.#send();
  }

  /** Sends the first objects. */
  start(inFlight: number): void {
    for (let object = 0; object < inFlight; object += 1) this.#send();
  }

  #send(): void {
    const group = this.order[this.#next];
    if (group === undefined) return;
    this.#next += 1;
    this.runs[group]!.sendNext();
  }
}
