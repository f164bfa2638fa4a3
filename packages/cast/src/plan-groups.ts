import { ENTRY_COST_BYTES, GROUP_COST_BYTES, MAX_PHASES } from './constants.js';
import type { BlockSet } from './delta/block-set.js';
import { bytesOf } from './delta/blocks.js';
import { EntryState, isLacking } from './manifest/entry-states.js';
import { Selected } from './reader/selection.js';

/** More classes than this become one group: the plan would take longer than it saves. */
const MAX_CLASSES = 4096;
/** Classes that are merged pair by pair; the smallest of the others become one before. */
const MAX_MERGED = 32;
const NO_PARTS: ReadonlyMap<number, Part> = new Map();

/** Entries that are sent to some receivers in one group. */
export interface PlannedGroup {
  /** Indices of the receivers, ascending. */
  readonly members: readonly number[];
  /** A byte of `Selected` for each entry. */
  readonly selection: Uint8Array;
  /** Bits of the blocks that are sent, of files that are not sent whole: what any of the members lacks. */
  readonly sentBlocks: ReadonlyMap<number, Uint8Array>;
  /** Cost of its entries, for one receiver. */
  readonly cost: number;
  readonly entries: number;
}

/** A file of which some receivers lack only some blocks. */
export interface DeltaFile {
  readonly entry: number;
  readonly size: number;
  /** The blocks that each receiver lacks, for those that lack the file. */
  readonly lacking: ReadonlyMap<number, BlockSet>;
}

/** Blocks of one file. */
interface Part {
  readonly size: number;
  readonly blocks: BlockSet;
}

/** Entries that are lacking at the same receivers. */
interface EntryClass {
  readonly members: ReadonlySet<number>;
  readonly cost: number;
  /** Ids of the classes of whole entries that it was made of. */
  readonly ids: readonly number[];
  /** By entry: files of which blocks are sent. */
  readonly parts: ReadonlyMap<number, Part>;
}

/**
 * Plans the groups of a cast. Entries that the same receivers lack go to a group of exactly these receivers, so that
 * nobody receives what it has, and the sender sends every entry once. Receivers that lack the same blocks of a file get
 * these in one group, and others get theirs in another one. Groups are merged where forming another group costs more than
 * the bytes that it saves; a merged group gets the blocks that any of its members lacks. The bytes that all receivers
 * receive are never more than with one group for everything.
 *
 * @param states for each receiver a state for each entry
 * @param costs bytes of each entry
 * @param deltas files of which blocks are sent
 */
export function planGroups(
  states: readonly Uint8Array[],
  costs: Float64Array,
  deltas: readonly DeltaFile[] = [],
): PlannedGroup[] {
  const { classOf, members } = classesOf(wholeOnly(states, deltas), costs.length);
  const sums = new Float64Array(members.length);
  for (const [entry, id] of classOf.entries()) sums[id]! += costs[entry]!;
  const whole = members
    .map((each, id): EntryClass => ({ members: new Set(each), cost: sums[id]!, ids: [id], parts: NO_PARTS }))
    // No receiver lacks class 0. A class that later receivers divided completely is empty, and costs nothing.
    .filter((each) => each.members.size > 0 && each.cost > 0);
  const groups =
    deltas.length === 0 ? merged(whole) : mergedWithParts([...whole, ...deltas.flatMap(partsOf)]);
  const often = repeated(groups);
  return groups
    .map((group) => planned(group, classOf, states, often))
    .sort((a, b) => b.members.length - a.members.length || b.cost - a.cost);
}

/** Groups that overlap in a file may move more bytes than one group for everything: then that one is made. */
function mergedWithParts(classes: readonly EntryClass[]): EntryClass[] {
  const together = classes.length > 0 ? [unionOf(classes)] : [];
  const apart = merged(sameMembers(classes));
  return moved(apart) <= moved(together) ? apart : together;
}

/** States in which nobody lacks the files that are not sent whole. */
function wholeOnly(states: readonly Uint8Array[], deltas: readonly DeltaFile[]): readonly Uint8Array[] {
  if (deltas.length === 0) return states;
  return states.map((its) => {
    const whole = Uint8Array.from(its);
    for (const { entry } of deltas) whole[entry] = EntryState.HAS;
    return whole;
  });
}

/** A class for each set of blocks that some receivers lack. */
function partsOf({ entry, size, lacking }: DeltaFile): EntryClass[] {
  const byBlocks = new Map<string, { blocks: BlockSet; members: Set<number> }>();
  for (const [receiver, blocks] of lacking) {
    const key = Buffer.from(blocks.bits).toString('latin1');
    const same = byBlocks.get(key);
    if (same) same.members.add(receiver);
    else byBlocks.set(key, { blocks, members: new Set([receiver]) });
  }
  return [...byBlocks.values()].map(({ blocks, members }) => {
    const parts = new Map([[entry, { size, blocks }]]);
    return { members, cost: costOf(size, blocks), ids: [], parts };
  });
}

function costOf(size: number, blocks: BlockSet): number {
  return ENTRY_COST_BYTES + bytesOf(blocks, size);
}

/** Unites the classes of equal members. */
function sameMembers(classes: readonly EntryClass[]): EntryClass[] {
  const byMembers = new Map<string, EntryClass[]>();
  for (const each of classes) {
    const key = [...each.members].sort((a, b) => a - b).join();
    const same = byMembers.get(key);
    if (same) same.push(each);
    else byMembers.set(key, [each]);
  }
  return [...byMembers.values()].map((same) => (same.length === 1 ? same[0]! : unionOf(same)));
}

/** Bytes that all receivers receive. */
function moved(groups: readonly EntryClass[]): number {
  return groups.reduce((sum, { members, cost }) => sum + members.size * cost, 0);
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
  const parts = new Map<number, Part>();
  let cost = 0;
  for (const each of classes) {
    cost += each.cost;
    for (const [entry, { size, blocks }] of each.parts) {
      const before = parts.get(entry)?.blocks;
      if (before) cost -= costOf(size, before.intersection(blocks));
      parts.set(entry, { size, blocks: before?.union(blocks) ?? blocks });
    }
  }
  const members = new Set(classes.flatMap((each) => [...each.members]));
  return { members, cost, ids: classes.flatMap(({ ids }) => ids), parts };
}

/** Merges the pair that costs least, as long as merging saves something or there are too many groups. */
function merged(classes: readonly EntryClass[]): EntryClass[] {
  if (classes.length > MAX_CLASSES) return [unionOf(classes)];
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

/** What merging two groups saves, in bytes received; negative where it costs more. All wait while another group forms. */
function gainOf(a: EntryClass, b: EntryClass): number {
  let together = a.members.size;
  for (const member of b.members) if (!a.members.has(member)) together += 1;
  const apart = a.members.size * a.cost + b.members.size * b.cost;
  return apart + together * GROUP_COST_BYTES - together * (a.cost + b.cost - sharedCost(a, b));
}

/** Cost of the blocks that both groups get: together they would get them once. */
function sharedCost(a: EntryClass, b: EntryClass): number {
  const [few, many] = a.parts.size < b.parts.size ? [a.parts, b.parts] : [b.parts, a.parts];
  let cost = 0;
  for (const [entry, { size, blocks }] of few) {
    const other = many.get(entry);
    if (other) cost += costOf(size, blocks.intersection(other.blocks));
  }
  return cost;
}

/** Files that several groups get. */
function repeated(groups: readonly EntryClass[]): ReadonlySet<number> {
  const seen = new Set<number>();
  const again = new Set<number>();
  for (const { parts } of groups) {
    for (const entry of parts.keys()) (seen.has(entry) ? again : seen).add(entry);
  }
  return again;
}

/** @param often files that other groups get too: all receivers must get them as they were compared */
function planned(
  { members, cost, ids, parts }: EntryClass,
  classOf: Uint32Array,
  states: readonly Uint8Array[],
  often: ReadonlySet<number>,
): PlannedGroup {
  const own = new Set(ids);
  const selection = new Uint8Array(classOf.length);
  const sentBlocks = new Map<number, Uint8Array>();
  let entries = 0;
  const select = (entry: number): void => {
    entries += 1;
    const isSomewhere = often.has(entry) || states.some((each) => hasIt(each[entry]!));
    selection[entry] = isSomewhere ? Selected.UNCHANGED : Selected.YES;
  };
  for (const [entry, id] of classOf.entries()) if (own.has(id)) select(entry);
  for (const [entry, { blocks }] of parts) {
    select(entry);
    if (!blocks.isAll) sentBlocks.set(entry, blocks.bits);
  }
  return { members: [...members].sort((a, b) => a - b), selection, sentBlocks, cost, entries };
}

function hasIt(state: number): boolean {
  return state === EntryState.HAS || state === EntryState.ATTRIBUTES;
}
