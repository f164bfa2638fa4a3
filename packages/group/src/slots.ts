import { MAX_GROUPS } from './constants.js';
import type { GroupSlot } from './environment.js';
import { GroupError } from './errors.js';
import { countersAt, createCounterTable } from './worker/counters.js';

/** Counters of all groups of a node; any thread may read them. */
export function createSlotTable(): SharedArrayBuffer {
  return createCounterTable(MAX_GROUPS);
}

/** Numbers for the groups of a node, each with counters in shared memory. */
export class GroupSlots {
  readonly #free: number[] = [];
  #next = 0;

  constructor(private readonly table: SharedArrayBuffer) {}

  /** @throws GroupError ERR_RDMC_TOO_MANY_GROUPS */
  take(): GroupSlot {
    const number = this.#free.pop() ?? this.#nextNumber();
    const counters = countersAt(this.table, number).fill(0);
    let released = false;
    return {
      number,
      counters,
      release: () => {
        if (!released) this.#free.push(number);
        released = true;
      },
    };
  }

  #nextNumber(): number {
    if (this.#next === MAX_GROUPS) {
      throw new GroupError(
        'ERR_RDMC_TOO_MANY_GROUPS',
        `A node has at most ${MAX_GROUPS} groups open at once; close some first`,
      );
    }
    this.#next += 1;
    return this.#next - 1;
  }
}
