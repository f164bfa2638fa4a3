import type { SlotRange } from '../commands/node-view.js';
import { SLOTS } from '../limits.js';

/** The slot does not have a server at present. */
export const NOBODY = -1;

type Slots = readonly (readonly [from: number, to: number])[];

/** The owner of each slot, as known to this server. */
export class SlotTable {
  readonly #owners = new Int32Array(SLOTS).fill(NOBODY);
  #ranges: readonly SlotRange[] = [{ from: 0, to: SLOTS - 1, member: NOBODY }];
  /** As the coordinator said last. */
  #told: readonly SlotRange[] = this.#ranges;
  /** Members that are lost here. */
  readonly #lost = new Set<number>();
  /** Slots that this server does not serve because it hands them over, by the number of the hand-over. */
  readonly #stopped = new Map<number, { readonly ranges: Slots; movedBy: number | undefined }>();
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
    for (const [number, { movedBy }] of this.#stopped) {
      if (movedBy !== undefined && epoch > movedBy) this.#stopped.delete(number);
    }
    this.#show();
  }

  /** Calls the listener after each update. */
  onUpdate(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Slots that are handed over: nobody serves them until `moved` or `resume`. The ranges still name this server. */
  stop(number: number, ranges: Slots): void {
    this.#stopped.set(number, { ranges, movedBy: undefined });
    this.#show();
  }

  /** Another server has the slots: that is in the tables above this epoch, and until then nobody serves them here. */
  moved(number: number, epoch: number): void {
    const stopped = this.#stopped.get(number);
    if (stopped === undefined) return;
    if (this.epoch > epoch) this.#stopped.delete(number);
    else stopped.movedBy = epoch;
    this.#show();
  }

  /** The slots were not handed over. */
  resume(number: number): void {
    if (this.#stopped.delete(number)) this.#show();
  }

  /** Whether slots of this server are not served for a moment. */
  get hasStopped(): boolean {
    return this.#stopped.size > 0;
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
    for (const { ranges } of this.#stopped.values()) {
      for (const [from, to] of ranges) this.#owners.fill(NOBODY, from, to + 1);
    }
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
