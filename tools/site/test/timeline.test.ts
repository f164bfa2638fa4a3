import { completionTime } from '@rdmc/schedule';
import { describe, expect, it } from 'vitest';
import { ALGORITHMS, DEFAULTS, type Settings } from '../src/explorer/settings.js';
import { heldAt, movesAt, timelineOf } from '../src/explorer/timeline.js';

const settings = (changes: Partial<Settings>): Settings => ({ ...DEFAULTS, ...changes });

describe.each(ALGORITHMS)('%s', (algorithm) => {
  it.each([2, 3, 8, 13])('of %i members moves in the steps of the schedule', (nodes) => {
    const timeline = timelineOf(settings({ nodes, blocks: 5, racks: 2 }), algorithm);
    const { schedule } = timeline;
    expect(timeline.duration).toBe(schedule.steps);
    for (let step = 0; step < schedule.steps; step += 1) {
      const moving = movesAt(timeline, step + 0.5).map(({ from, to, block }) => ({ step, from, to, block }));
      expect(moving).toEqual([...schedule.at(step)]);
    }
    expect(heldAt(timeline, 0)).toEqual([5, ...new Array(nodes - 1).fill(0)]);
    expect(heldAt(timeline, timeline.duration)).toEqual(new Array(nodes).fill(5));
  });

  it('takes the time of the library over a slow link', () => {
    const timeline = timelineOf(
      settings({ nodes: 8, blocks: 6, slow: { a: 1, b: 0, ratio: 0.5 } }),
      algorithm,
    );
    const cost = (from: number, to: number): number => (from + to === 1 ? 2 : 1);
    expect(timeline.duration).toBe(completionTime(timeline.schedule, cost));
    expect(Math.max(...timeline.moves.map(({ end }) => end))).toBe(timeline.duration);
  });
});

it('a member has a block before it sends it, and one port each way', () => {
  const timeline = timelineOf(
    settings({ nodes: 7, blocks: 9, slow: { a: 2, b: 6, ratio: 0.1 } }),
    'binomial-pipeline',
  );
  const arrivals = new Map(timeline.moves.map(({ to, block, end }) => [`${to} ${block}`, end]));
  for (const { from, to, block, start } of timeline.moves) {
    if (from !== 0) expect(arrivals.get(`${from} ${block}`)).toBeLessThanOrEqual(start);
    const others = timeline.moves.filter((move) => move.start <= start && start < move.end);
    expect(others.filter((move) => move.from === from)).toHaveLength(1);
    expect(others.filter((move) => move.to === to)).toHaveLength(1);
  }
});
