import type { SlotTable } from '../cluster/slot-table.js';

/** Holds requests whose sender has a newer slot table than this server, until the coordinator's next table is here. */
export class EpochWaiters {
  #waiting: { epoch: number; resolve: () => void }[] = [];

  constructor(private readonly table: SlotTable) {
    table.onUpdate(() => this.#changed());
  }

  /** Resolves when the slot table has this epoch; undefined: it has. */
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
