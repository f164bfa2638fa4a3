import type { SlotTable } from '../cluster/slot-table.js';

/** Holds requests whose sender has a newer slot table than this server, until the coordinator's next table is here. */
export class EpochWaiters {
  #waiting: { epoch: number; connection: object; resolve: () => void }[] = [];

  constructor(private readonly table: SlotTable) {
    table.onUpdate(() => this.#changed());
  }

  /** Resolves when the slot table has this epoch; never where the connection is forgotten before; undefined: it has. */
  reached(epoch: number, connection: object): Promise<void> | undefined {
    if (epoch <= this.table.epoch) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push({ epoch, connection, resolve });
    });
  }

  /** The connection has ended: what waits is not kept until the next table. */
  forget(connection: object): void {
    this.#waiting = this.#waiting.filter((each) => each.connection !== connection);
  }

  #changed(): void {
    const reached = this.#waiting.filter(({ epoch }) => epoch <= this.table.epoch);
    this.#waiting = this.#waiting.filter(({ epoch }) => epoch > this.table.epoch);
    for (const { resolve } of reached) resolve();
  }
}
