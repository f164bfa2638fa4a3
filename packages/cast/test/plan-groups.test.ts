import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GROUP_COST_BYTES, MAX_PHASES } from '../src/constants.js';
import { EntryState, isLacking, MAX_ENTRY_STATE } from '../src/manifest/entry-states.js';
import { type PlannedGroup, planGroups } from '../src/plan-groups.js';
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
          expect(cost).toBeCloseTo(
            own.reduce((sum, entry) => sum + costs[entry]!, 0),
            0,
          );
          expect(new Set(members).size).toBe(members.length);
        }
      }),
    );
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
