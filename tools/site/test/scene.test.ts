import { expect, it } from 'vitest';
import { placesOf } from '../src/explorer/layout.js';
import { blockName, movesText, sceneAt } from '../src/explorer/scene.js';
import { DEFAULTS, racksOf } from '../src/explorer/settings.js';
import { timelineOf } from '../src/explorer/timeline.js';

const timeline = timelineOf(DEFAULTS, 'binomial-pipeline');
const places = placesOf(racksOf(DEFAULTS));

it('a block is on the line from its sender to its receiver', () => {
  const { flights, held, delivered, total } = sceneAt(timeline, 1.25, places, { slow: undefined, isSmooth: true });
  expect(flights).toHaveLength(2);
  const [{ at, from, to, move }] = flights as [(typeof flights)[0]];
  expect(move).toMatchObject({ from: 0, to: 2, block: 1 });
  expect([from, to]).toEqual([places[0], places[2]]);
  expect(at.x).toBeCloseTo(from.x + (to.x - from.x) / 4);
  expect(held).toEqual([4, 1, 0, 0, 0, 0, 0, 0]);
  expect([delivered, total]).toEqual([1, 28]);
});

it('without motion, a block is in the middle', () => {
  const { flights } = sceneAt(timeline, 1, places, { slow: undefined, isSmooth: false });
  expect(flights[0]!.at.y).toBeCloseTo((places[0]!.y + places[2]!.y) / 2);
});

it('the moves are text, too', () => {
  expect(movesText(sceneAt(timeline, 1, places, { slow: undefined, isSmooth: true }), 4)).toBe('0→2 B, 1→3 A');
  expect([blockName(0, 26), blockName(25, 26), blockName(0, 27)]).toEqual(['A', 'Z', '1']);
});

it('a slow link is marked in both directions', () => {
  const marked = (slow: { a: number; b: number; ratio: number }): boolean[] =>
    sceneAt(timeline, 1.5, places, { slow, isSmooth: true }).flights.map(({ isSlow }) => isSlow);
  expect(marked({ a: 3, b: 1, ratio: 0.5 })).toEqual([false, true]);
  expect(marked({ a: 1, b: 3, ratio: 0.5 })).toEqual([false, true]);
});

it('the end is complete', () => {
  const { isComplete, flights } = sceneAt(timeline, timeline.duration, places, { slow: undefined, isSmooth: true });
  expect([isComplete, flights]).toEqual([true, []]);
});

it('members are on a circle, racks apart', () => {
  const distance = (one: number, other: number): number => {
    const [a, b] = [racked[one]!, racked[other]!];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  const racked = placesOf([0, 0, 1, 1]);
  expect(racked[0]!.x).toBeCloseTo(0);
  expect(racked[0]!.y).toBeCloseTo(-1);
  expect(distance(1, 2)).toBeGreaterThan(distance(0, 1) * 1.3);
  expect(distance(3, 0)).toBeCloseTo(distance(1, 2));
});
