import type { SlotTable } from '../cluster/slot-table.js';

/** Holds requests that were sent by a newer slot table than this server has: it comes soon, from the coordinator. */
export class EpochWaiters {
  #waiting: { epoch: number; resolve: () => void }[] = [];

  constructor(private readonly table: SlotTable) {
    table.onUpdate(() => this.#changed());
  }

  /** Undefined: it is here. */
  reached(epoch: number): Promise<void> | undefined {
    if (epoch <= this.table.epoch) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push({ epoch, resolve });
    });
  }

  #changed(): void {
    const reached = this.#waiting.filter(({ epoch }) => epoch <= this.table.epoch);
    this.#waiting = this.#waiting.filter(({ epoch }) => epoch > this.table.epoch);
    for (const { resolve } of reached) resolve();
  }
}
