/** What the coordinator says of slots that move. */
import { readShape } from '@rdmc/common/shapes';
import { expect, it } from 'vitest';
import { coordinatorFacts } from '../src/admin/status.js';
import { type PlacementFactsOptions, placementFacts } from '../src/cluster/placement-facts.js';
import { SLOTS } from '../src/limits.js';

/** Slots of which all are at server 1, of two. */
const LAYOUT = {
  owners: Array<string>(SLOTS).fill('1'),
  holders: [1, 2].map((member) => ({ member, logId: String(member) })),
  drained: new Set<number>(),
};

async function movesOf(layout: typeof LAYOUT | undefined, isMoving: boolean) {
  const facts = await placementFacts({
    coordinator: { logs: async () => [], term: 2 },
    level: 1,
    state: {
      storedTenures: async () => undefined,
      removed: async () => [],
      moving: async () => isMoving,
    },
    attempts: { isUnderWay: () => false },
    isHere: () => true,
    moves: { facts: { isRunning: false, moved: 0, failure: undefined } },
    layout: async () => layout,
    management: { drained: async () => new Set<number>() },
  } as PlacementFactsOptions);
  return readShape(coordinatorFacts, JSON.parse(JSON.stringify(facts))).moves;
}

it('slots to move are not known while a server with slots is not here, and what another run began is under way', async () => {
  expect(await movesOf(undefined, true)).toEqual({ isRunning: true, moved: 0, left: null, failure: null });
  expect(await movesOf(LAYOUT, true)).toMatchObject({ isRunning: true, left: SLOTS / 2 });
  expect(await movesOf(LAYOUT, false)).toMatchObject({ isRunning: false, left: SLOTS / 2 });
});
