import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELTA_BLOCK_BYTES, ENTRY_COST_BYTES, GROUP_COST_BYTES, MAX_PHASES, MIB } from '../src/constants.js';
import { BlockSet } from '../src/delta/block-set.js';
import { bytesOf, deltaBlocks } from '../src/delta/blocks.js';
import { EntryState, isLacking, MAX_ENTRY_STATE } from '../src/manifest/entry-states.js';
import { type DeltaFile, type PlannedGroup, planGroups } from '../src/plan-groups.js';
import { Selected } from '../src/reader/selection.js';

/** Some receivers with states of the same entries, and the costs of the entries. */
const situation = fc.integer({ min: 0, max: 60 }).chain((entries) =>
  fc.record({
    states: fc.array(
      fc
        .array(fc.integer({ min: 0, max: MAX_ENTRY_STATE }), { minLength: entries, maxLength: entries })
        .map((each) => Uint8Array.from(each)),
      { minLength: 1, maxLength: 7 },
    ),
    costs: fc
      .array(fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 2 ** 40 })), {
        minLength: entries,
        maxLength: entries,
      })
      .map((each) => Float64Array.from(each)),
  }),
);

const moved = (groups: readonly PlannedGroup[]): number =>
  groups.reduce((sum, { members, cost }) => sum + members.length * cost, 0);

function lackedBy(states: readonly Uint8Array[], entry: number): number[] {
  return [...states.keys()].filter((receiver) => isLacking(states[receiver]![entry]!));
}

describe('the plan of groups', () => {
  it('everybody gets what it lacks, once, and the sender sends nothing twice', () => {
    fc.assert(
      fc.property(situation, ({ states, costs }) => {
        const groups = planGroups(states, costs);
        expect(groups.length).toBeLessThanOrEqual(MAX_PHASES);
        for (const entry of costs.keys()) {
          const its = groups.filter(({ selection }) => selection[entry] !== Selected.NO);
          const lacking = lackedBy(states, entry);
          expect(its).toHaveLength(lacking.length > 0 ? 1 : 0);
          if (its[0]) expect(its[0].members).toEqual(expect.arrayContaining(lacking));
        }
        for (const { members, cost, entries, selection } of groups) {
          const own = [...costs.keys()].filter((entry) => selection[entry] !== Selected.NO);
          expect(entries).toBe(own.length);
          expect(entries).toBeGreaterThan(0);
          expect(cost).toBeCloseTo(
            own.reduce((sum, entry) => sum + costs[entry]!, 0),
            0,
          );
          expect(new Set(members).size).toBe(members.length);
        }
      }),
    );
  });

  it('a class that later receivers divided completely is not a group', () => {
    // The class of the first receiver alone loses its last entry to that of the first and the third one.
    const states = [
      [1, 1, 0],
      [1, 0, 1],
      [0, 1, 1],
    ].map((lacking) => Uint8Array.from(lacking));
    const groups = planGroups(states, new Float64Array(3).fill(2 ** 30));
    expect(groups.map(({ members, entries }) => [members, entries])).toEqual([
      [[0, 1], 1],
      [[0, 2], 1],
      [[1, 2], 1],
    ]);
  });

  it('never moves more bytes than one group with everything', () => {
    fc.assert(
      fc.property(situation, ({ states, costs }) => {
        const entries = [...costs.keys()].filter((entry) => lackedBy(states, entry).length > 0);
        const members = new Set(entries.flatMap((entry) => lackedBy(states, entry)));
        const union = entries.reduce((sum, entry) => sum + costs[entry]!, 0);
        expect(moved(planGroups(states, costs))).toBeLessThanOrEqual(members.size * union * (1 + 1e-9));
      }),
    );
  });

  it('an entry that one receiver has is sent only as it was compared', () => {
    fc.assert(
      fc.property(situation, ({ states, costs }) => {
        const has = (state: number): boolean => state === EntryState.HAS || state === EntryState.ATTRIBUTES;
        for (const { selection } of planGroups(states, costs)) {
          for (const [entry, selected] of selection.entries()) {
            if (selected === Selected.NO) continue;
            const isSomewhere = states.some((its) => has(its[entry]!));
            expect(selected).toBe(isSomewhere ? Selected.UNCHANGED : Selected.YES);
          }
        }
      }),
    );
  });

  it('one receiver lacks much and another one little: separate groups, where that moves fewer bytes', () => {
    const much = 100 * GROUP_COST_BYTES;
    const [absent, has] = [EntryState.ABSENT, EntryState.HAS];
    const states = [Uint8Array.of(absent, absent), Uint8Array.of(has, absent)];
    const apart = planGroups(states, Float64Array.of(much, 1_000));
    expect(apart.map(({ members }) => members)).toEqual([[0, 1], [0]]);
    const together = planGroups(states, Float64Array.of(1_000, 1_000));
    expect(together.map(({ members }) => members)).toEqual([[0, 1]]);
  });

  it('nobody lacks anything: no group', () => {
    expect(planGroups([new Uint8Array(5), new Uint8Array(5)], new Float64Array(5).fill(1))).toEqual([]);
  });

  it('every entry is lacked by other receivers: still a few groups', () => {
    const receivers = 12;
    const entries = 2 ** receivers;
    const states = Array.from({ length: receivers }, (_, receiver) =>
      Uint8Array.from({ length: entries }, (_, entry) => (entry >> receiver) & 1),
    );
    const groups = planGroups(states, new Float64Array(entries).fill(GROUP_COST_BYTES * 1_000));
    expect(groups.length).toBeLessThanOrEqual(MAX_PHASES);
    expect(groups.reduce((sum, group) => sum + group.entries, 0)).toBe(entries - 1);
  });
});

const FILE_BYTES = 24 * MIB + 5;
const BLOCKS = deltaBlocks(FILE_BYTES);

/** What a receiver lacks of a file: nothing, few or many blocks, or all. */
const lackingOf = fc.oneof(
  fc.constant(undefined),
  fc.constant(BlockSet.all(BLOCKS)),
  fc.tuple(fc.nat({ max: BLOCKS - 1 }), fc.nat({ max: BLOCKS })).map(([first, count]) => {
    const set = new BlockSet(BLOCKS);
    for (let block = first; block < Math.min(BLOCKS, first + count); block += 1) set.add(block);
    return set;
  }),
);

/** As `situation`, where the last entries are files of which blocks are sent. */
const withDeltas = situation.chain(({ states, costs }) =>
  fc
    .array(fc.array(lackingOf, { minLength: states.length, maxLength: states.length }), { maxLength: 4 })
    .map((files) => {
      const all = states.map((its, receiver) => {
        const ofFiles = files.map((each) => (each[receiver] ? EntryState.OLDER : EntryState.HAS));
        return Uint8Array.from([...its, ...ofFiles]);
      });
      const deltas = files.map((each, number): DeltaFile => {
        const lacking = each.flatMap((set, receiver) => (set ? [[receiver, set] as const] : []));
        return { entry: costs.length + number, size: FILE_BYTES, lacking: new Map(lacking) };
      });
      const allCosts = Float64Array.from([...costs, ...files.map(() => ENTRY_COST_BYTES + FILE_BYTES)]);
      return { states: all, costs: allCosts, deltas };
    }),
);

/** The blocks of a file that a group gets; undefined where it gets none of the file. */
function blocksIn({ selection, sentBlocks }: PlannedGroup, entry: number): BlockSet | undefined {
  if (selection[entry] === Selected.NO) return undefined;
  const bits = sentBlocks.get(entry);
  return bits ? new BlockSet(BLOCKS, bits) : BlockSet.all(BLOCKS);
}

const isWithin = (inner: BlockSet, outer: BlockSet): boolean =>
  inner.intersection(outer).count === inner.count;

describe('the plan of groups, where blocks are sent', () => {
  it('each receiver gets all blocks that it lacks in one group, and no block is sent that nobody in the group lacks', () => {
    fc.assert(
      fc.property(withDeltas, ({ states, costs, deltas }) => {
        const groups = planGroups(states, costs, deltas);
        expect(groups.length).toBeLessThanOrEqual(MAX_PHASES);
        for (const { entry, lacking } of deltas) {
          for (const [receiver, wanted] of lacking) {
            const its = groups.filter(({ members }) => members.includes(receiver));
            expect(
              its.some((group) => isWithin(wanted, blocksIn(group, entry) ?? new BlockSet(BLOCKS))),
            ).toBe(true);
          }
          for (const group of groups) {
            const blocks = blocksIn(group, entry);
            if (!blocks) continue;
            const lacked = group.members.flatMap((member) => lacking.get(member) ?? []);
            expect(
              isWithin(
                blocks,
                lacked.reduce((a, b) => a.union(b), new BlockSet(BLOCKS)),
              ),
            ).toBe(true);
          }
        }
      }),
    );
  });

  it('every other entry is sent once, and costs are those of what is sent', () => {
    fc.assert(
      fc.property(withDeltas, ({ states, costs, deltas }) => {
        const groups = planGroups(states, costs, deltas);
        const own = new Set(deltas.map(({ entry }) => entry));
        for (const entry of costs.keys()) {
          const times = groups.filter(({ selection }) => selection[entry] !== Selected.NO).length;
          if (own.has(entry)) expect(times > 0).toBe(lackedBy(states, entry).length > 0);
          else expect(times).toBe(lackedBy(states, entry).length > 0 ? 1 : 0);
        }
        for (const group of groups) {
          const selected = [...costs.keys()].filter((entry) => group.selection[entry] !== Selected.NO);
          const costOf = (entry: number): number => {
            const blocks = blocksIn(group, entry)!;
            return own.has(entry) ? ENTRY_COST_BYTES + bytesOf(blocks, FILE_BYTES) : costs[entry]!;
          };
          expect(group.cost).toBeCloseTo(
            selected.reduce((sum, entry) => sum + costOf(entry), 0),
            0,
          );
          expect(group.entries).toBe(selected.length);
        }
      }),
    );
  });

  it('never moves more bytes than one group with everything, nor than whole files', () => {
    fc.assert(
      fc.property(withDeltas, ({ states, costs, deltas }) => {
        const entries = [...costs.keys()].filter((entry) => lackedBy(states, entry).length > 0);
        const members = new Set(entries.flatMap((entry) => lackedBy(states, entry)));
        const unions = new Map(
          deltas.map(({ entry, lacking }) => [
            entry,
            ENTRY_COST_BYTES +
              bytesOf(
                [...lacking.values()].reduce((a, b) => a.union(b), new BlockSet(BLOCKS)),
                FILE_BYTES,
              ),
          ]),
        );
        const together = entries.reduce((sum, entry) => sum + (unions.get(entry) ?? costs[entry]!), 0);
        const bytes = moved(planGroups(states, costs, deltas));
        expect(bytes).toBeLessThanOrEqual(members.size * together * (1 + 1e-9));
      }),
    );
  });

  it('a file in several groups is sent only as it was compared', () => {
    fc.assert(
      fc.property(withDeltas, ({ states, costs, deltas }) => {
        const groups = planGroups(states, costs, deltas);
        for (const { entry } of deltas) {
          const its = groups.filter(({ selection }) => selection[entry] !== Selected.NO);
          if (its.length < 2) continue;
          for (const { selection } of its) expect(selection[entry]).toBe(Selected.UNCHANGED);
        }
      }),
    );
  });

  it('receivers that lack much and receivers that lack little get separate groups, where that moves fewer bytes', () => {
    const size = 64 * GROUP_COST_BYTES;
    const blocks = deltaBlocks(size);
    const one = (block: number): BlockSet => {
      const set = new BlockSet(blocks);
      set.add(block);
      return set;
    };
    const plan = (...lacking: BlockSet[]) => {
      const states = lacking.map(() => Uint8Array.of(EntryState.OLDER));
      const deltas = [{ entry: 0, size, lacking: new Map(lacking.entries()) }];
      return planGroups(states, Float64Array.of(size), deltas).map(({ members, cost }) => ({
        members,
        cost,
      }));
    };
    const cost = (count: number): number => ENTRY_COST_BYTES + count * DELTA_BLOCK_BYTES;
    expect(plan(BlockSet.all(blocks), one(3), one(3))).toEqual([
      { members: [1, 2], cost: cost(1) },
      { members: [0], cost: ENTRY_COST_BYTES + size },
    ]);
    expect(plan(one(1), one(2), one(2))).toEqual([{ members: [0, 1, 2], cost: cost(2) }]);
    expect(plan(new BlockSet(blocks), new BlockSet(blocks))).toEqual([{ members: [0, 1], cost: cost(0) }]);
  });
});
