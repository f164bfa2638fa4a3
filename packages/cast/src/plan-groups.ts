import { GROUP_COST_BYTES, MAX_PHASES } from './constants.js';
import { EntryState, isLacking } from './manifest/entry-states.js';
import { Selected } from './reader/selection.js';

/** More classes than this become one group: the plan would take longer than it saves. */
const MAX_CLASSES = 4096;
/** Classes that are merged pair by pair; the smallest of the others become one before. */
const MAX_MERGED = 32;

/** Entries that are sent to some receivers in one group. */
export interface PlannedGroup {
  /** Indices of the receivers, ascending. */
  readonly members: readonly number[];
  /** A byte of `Selected` for each entry. */
  readonly selection: Uint8Array;
  /** Cost of its entries, for one receiver. */
  readonly cost: number;
  readonly entries: number;
}

/** Entries that are lacking at the same receivers. */
interface EntryClass {
  readonly members: ReadonlySet<number>;
  readonly cost: number;
  /** Ids of the classes that it was made of. */
  readonly ids: readonly number[];
}

/**
 * Plans the groups of a cast. Entries that the same receivers lack go to a group of exactly these receivers, so that
 * nobody receives what it has, and the sender sends every entry once. Groups are merged where forming another group
 * costs more than the bytes that it saves. The bytes that all receivers receive are never more than with one group
 * for everything.
 *
 * @param states for each receiver a state for each entry
 * @param costs bytes of each entry
 */
export function planGroups(states: readonly Uint8Array[], costs: Float64Array): PlannedGroup[] {
  const { classOf, members } = classesOf(states, costs.length);
  const sums = new Float64Array(members.length);
  for (const [entry, id] of classOf.entries()) sums[id]! += costs[entry]!;
  const classes = members
    .map((each, id): EntryClass => ({ members: new Set(each), cost: sums[id]!, ids: [id] }))
    .filter((each) => each.members.size > 0);
  const groups = merged(classes.length > MAX_CLASSES ? [unionOf(classes)] : classes);
  return groups
    .map((group) => planned(group, classOf, states))
    .sort((a, b) => b.members.length - a.members.length || b.cost - a.cost);
}

/** The class of each entry, and the receivers that lack the entries of each class. */
function classesOf(states: readonly Uint8Array[], entries: number) {
  const classOf = new Uint32Array(entries);
  const members: (readonly number[])[] = [[]];
  for (const [receiver, its] of states.entries()) {
    // Classes that this receiver divides: the part that it lacks gets a new id.
    const parts = new Map<number, number>();
    for (let entry = 0; entry < entries; entry += 1) {
      if (!isLacking(its[entry]!)) continue;
      const old = classOf[entry]!;
      let part = parts.get(old);
      if (part === undefined) {
        part = members.length;
        parts.set(old, part);
        members.push([...members[old]!, receiver]);
      }
      classOf[entry] = part;
    }
  }
  return { classOf, members };
}

function unionOf(classes: readonly EntryClass[]): EntryClass {
  return {
    members: new Set(classes.flatMap(({ members }) => [...members])),
    cost: classes.reduce((sum, { cost }) => sum + cost, 0),
    ids: classes.flatMap(({ ids }) => ids),
  };
}

/** Merges the pair that costs least, as long as merging saves something or there are too many groups. */
function merged(classes: readonly EntryClass[]): EntryClass[] {
  const sorted = [...classes].sort((a, b) => b.cost - a.cost);
  const rest = sorted.splice(MAX_MERGED - 1);
  const groups = rest.length > 0 ? [...sorted, unionOf(rest)] : sorted;
  while (groups.length > 1) {
    const { first, second, gain } = bestPair(groups);
    if (gain < 0 && groups.length <= MAX_PHASES) break;
    const [b] = groups.splice(second, 1);
    const [a] = groups.splice(first, 1);
    groups.push(unionOf([a!, b!]));
  }
  return groups;
}

function bestPair(groups: readonly EntryClass[]) {
  let best = { first: 0, second: 1, gain: Number.NEGATIVE_INFINITY };
  for (let first = 0; first < groups.length; first += 1) {
    for (let second = first + 1; second < groups.length; second += 1) {
      const gain = gainOf(groups[first]!, groups[second]!);
      if (gain > best.gain) best = { first, second, gain };
    }
  }
  return best;
}

/** What merging two groups saves, in bytes received; negative where it costs more. */
function gainOf(a: EntryClass, b: EntryClass): number {
  let together = a.members.size;
  for (const member of b.members) if (!a.members.has(member)) together += 1;
  const apart = a.members.size * (a.cost + GROUP_COST_BYTES) + b.members.size * (b.cost + GROUP_COST_BYTES);
  return apart - together * (a.cost + b.cost + GROUP_COST_BYTES);
}

function planned(
  { members, cost, ids }: EntryClass,
  classOf: Uint32Array,
  states: readonly Uint8Array[],
): PlannedGroup {
  const own = new Set(ids);
  const selection = new Uint8Array(classOf.length);
  let entries = 0;
  for (const [entry, id] of classOf.entries()) {
    if (!own.has(id)) continue;
    entries += 1;
    const isSomewhere = states.some((each) => hasIt(each[entry]!));
    selection[entry] = isSomewhere ? Selected.UNCHANGED : Selected.YES;
  }
  return { members: [...members].sort((a, b) => a - b), selection, cost, entries };
}

function hasIt(state: number): boolean {
  return state === EntryState.HAS || state === EntryState.ATTRIBUTES;
}
