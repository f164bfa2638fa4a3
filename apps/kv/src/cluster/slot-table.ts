import type { SlotRange } from '../commands/node-view.js';
import { SLOTS } from '../limits.js';

/** The slot does not have a server at present. */
export const NOBODY = -1;

/** The owner of each slot, as known to this server. */
export class SlotTable {
  readonly #owners = new Int32Array(SLOTS).fill(NOBODY);
  #ranges: readonly SlotRange[] = [{ from: 0, to: SLOTS - 1, member: NOBODY }];
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
    this.#owners.fill(NOBODY);
    for (const { from, to, member } of ranges) this.#owners.fill(member, from, to + 1);
    this.#ranges = rangesOf(this.#owners);
    this.epoch = epoch;
    for (const listener of this.#listeners) listener();
  }

  /** Calls the listener after each update. */
  onUpdate(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** A member was lost: its slots do not have a server until the coordinator's next table. */
  drop(member: number): void {
    const ranges = this.#ranges.map((range) =>
      range.member === member ? { ...range, member: NOBODY } : range,
    );
    this.update(this.epoch, ranges);
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
