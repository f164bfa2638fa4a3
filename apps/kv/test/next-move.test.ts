import { expect, it } from 'vitest';
import { type Layout, nextMove, slotsToMove } from '../src/handover/next-move.js';
import { HANDOVER_SLOTS, SLOTS } from '../src/limits.js';

/** The slots of each server after all moves, and their number. */
function settle({ owners, ...rest }: Layout): { counts: number[]; moves: number } {
  const present = [...owners];
  let moves = 0;
  for (;;) {
    const layout = { owners: present, ...rest };
    const left = slotsToMove(layout);
    const move = nextMove(layout);
    if (!move) {
      expect(left).toBe(0);
      return {
        counts: rest.holders.map(({ logId }) => present.filter((owner) => owner === logId).length),
        moves,
      };
    }
    moves += 1;
    expect(move.slots.length).toBeLessThanOrEqual(HANDOVER_SLOTS);
    for (const slot of move.slots) {
      expect(present[slot]).toBe(move.source.logId);
      present[slot] = move.target.logId;
    }
  }
}

const holders = [1, 2, 3, 4].map((member) => ({ member, logId: String(member) }));
const owners = Array.from({ length: SLOTS }, (_, slot) => String(1 + Math.floor((slot * 3) / SLOTS)));

it('a server without slots gets its share, and drained ones give all away', () => {
  const fresh = settle({ owners, holders, drained: new Set() });
  expect(fresh.counts).toEqual([4096, 4096, 4096, 4096]);
  expect(fresh.moves).toBeLessThan(4096 / HANDOVER_SLOTS + 20);
  const { counts } = settle({ owners, holders, drained: new Set([2]) });
  expect(counts[1]).toBe(0);
  expect(Math.max(...counts) - Math.min(counts[0]!, counts[2]!, counts[3]!)).toBeLessThanOrEqual(1);
});

it('there is nowhere to go for slots where all servers are drained', () => {
  expect(nextMove({ owners, holders, drained: new Set([1, 2, 3, 4]) })).toBeUndefined();
});

it('a full server gets no slots, and gives away what it has beyond its share', () => {
  const present = { owners: [...owners], holders, drained: new Set([2]) };
  const full = new Set([4]);
  for (let move = nextMove(present, full); move; move = nextMove(present, full)) {
    expect(move.target.member).not.toBe(4);
    for (const slot of move.slots) present.owners[slot] = move.target.logId;
  }
  expect(present.owners.filter((owner) => owner === '1' || owner === '3')).toHaveLength(SLOTS);
  const most = { owners: Array<string>(SLOTS).fill('4'), holders, drained: new Set<number>() };
  expect(nextMove(most, full)).toMatchObject({ source: { member: 4 }, target: { member: 1 } });
  expect(nextMove(most, new Set([1, 2, 3, 4]))).toBeUndefined();
});
