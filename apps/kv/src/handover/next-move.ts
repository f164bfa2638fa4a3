import { HANDOVER_SLOTS } from '../limits.js';
import type { Holder, Move } from './hand-overs.js';

/** The servers that are here, and what each may have. */
export interface Layout {
  /** The log that has each slot. */
  readonly owners: readonly string[];
  readonly holders: readonly Holder[];
  /** Servers that must not have slots. */
  readonly drained: ReadonlySet<number>;
}

const NOBODY: ReadonlySet<number> = new Set();

/**
 * The next slots to hand over so that each server has the same number of them, up to one, and drained ones none; undefined: that
 * is so. Neighbouring slots go together, from the upper end of what a server has, so that the table stays short.
 * @param full servers that do not get further slots
 */
export function nextMove({ owners, holders, drained }: Layout, full = NOBODY): Move | undefined {
  const staying = holders.filter(({ member }) => !drained.has(member));
  const takers = staying.filter(({ member }) => !full.has(member));
  if (takers.length === 0) return undefined;
  const counts = countsOf(owners);
  const countOf = ({ logId }: Holder): number => counts.get(logId) ?? 0;
  const target = takers.reduce((least, each) => (countOf(each) < countOf(least) ? each : least));
  const emptied = holders.find((each) => drained.has(each.member) && countOf(each) > 0);
  const source = emptied ?? staying.reduce((most, each) => (countOf(each) > countOf(most) ? each : most));
  const difference = countOf(source) - countOf(target);
  if (!emptied && difference <= 1) return undefined;
  const most = emptied ? countOf(emptied) : Math.floor(difference / 2);
  return { source, target, slots: lastOf(owners, source.logId, Math.min(HANDOVER_SLOTS, most)) };
}

/** The number of slots of each log. Neighbouring slots have mostly the same one. */
function countsOf(owners: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (let slot = 0; slot < owners.length; ) {
    const owner = owners[slot]!;
    const from = slot;
    while (slot < owners.length && owners[slot] === owner) slot += 1;
    counts.set(owner, (counts.get(owner) ?? 0) + slot - from);
  }
  return counts;
}

function lastOf(owners: readonly string[], logId: string, count: number): number[] {
  const slots: number[] = [];
  for (let slot = owners.length - 1; slot >= 0 && slots.length < count; slot -= 1) {
    if (owners[slot] === logId) slots.unshift(slot);
  }
  return slots;
}

/** The number of slots that are not at the servers that will have them. */
export function slotsToMove(layout: Layout): number {
  const { owners, holders, drained } = layout;
  const share = Math.ceil(
    owners.length / Math.max(1, holders.filter(({ member }) => !drained.has(member)).length),
  );
  const counts = countsOf(owners);
  let left = 0;
  for (const { logId, member } of holders) {
    left += Math.max(0, (counts.get(logId) ?? 0) - (drained.has(member) ? 0 : share));
  }
  return left;
}
