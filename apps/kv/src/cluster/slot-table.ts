import type { SlotRange } from '../commands/node-view.js';
import { SLOTS } from '../limits.js';

/** The slot does not have a server at present. */
export const NOBODY = -1;

/** The owner of each slot, as known to this server. */
export class SlotTable {
  readonly #owners = new Int32Array(SLOTS).fill(NOBODY);
  #ranges: readonly SlotRange[] = [{ from: 0, to: SLOTS - 1, member: NOBODY }];
  /** As the coordinator said last. */
  #told: readonly SlotRange[] = this.#ranges;
  /** Members that are lost here. */
  readonly #lost = new Set<number>();
  /** Rises with each table of the coordinator. */
  epoch = 0;
  readonly #listeners: (() => void)[] = [];

  static of(member: number): SlotTable {
    const table = new SlotTable();
    table.update(1, [{ from: 0, to: SLOTS - 1, member }]);
    return table;
  }

  owner(slot: number): number {
    return this.#owners[slot]!;
  }

  get ranges(): readonly SlotRange[] {
    return this.#ranges;
  }

  /** Members that serve slots. */
  get members(): number[] {
    return [...new Set(this.#ranges.map(({ member }) => member))].filter((member) => member !== NOBODY);
  }

  get isComplete(): boolean {
    return this.#ranges.every(({ member }) => member !== NOBODY);
  }

  update(epoch: number, ranges: readonly SlotRange[]): void {
    this.#told = ranges;
    this.epoch = epoch;
    this.#show();
  }

  /** Calls the listener after each update. */
  onUpdate(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** A member was lost: its slots do not have a server until it is back, or the coordinator's next table. */
  drop(member: number): void {
    this.#lost.add(member);
    this.#show();
  }

  /** A member that was lost is connected again. If it is another process, it refuses requests for slots of the former. */
  restore(member: number): void {
    if (this.#lost.delete(member)) this.#show();
  }

  #show(): void {
    this.#owners.fill(NOBODY);
    for (const { from, to, member } of this.#told) {
      if (!this.#lost.has(member)) this.#owners.fill(member, from, to + 1);
    }
    this.#ranges = rangesOf(this.#owners);
    for (const listener of this.#listeners) listener();
  }
}

/** Ranges of consecutive slots with the same owner. */
export function rangesOf(owners: ArrayLike<number>): SlotRange[] {
  const ranges: SlotRange[] = [];
  for (let slot = 0, from = 0; slot < owners.length; slot += 1) {
    if (owners[slot + 1] === owners[slot]) continue;
    ranges.push({ from, to: slot, member: owners[slot]! });
    from = slot + 1;
  }
  return ranges;
}
