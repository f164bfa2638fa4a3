import { expect, it } from 'vitest';
import { discRadius, lane, placesOf } from '../src/explorer/layout.js';
import { blockName, movesText, REST, sceneAt } from '../src/explorer/scene.js';
import { DEFAULTS, racksOf } from '../src/explorer/settings.js';
import { timelineOf } from '../src/explorer/timeline.js';

const timeline = timelineOf(DEFAULTS, 'binomial-pipeline');
const places = placesOf(racksOf(DEFAULTS));

it('a block is on the line from its sender to its receiver', () => {
  const { flights, held, delivered, total } = sceneAt(timeline, 1.25, places, {
    slow: undefined,
    isSmooth: true,
  });
  expect(flights).toHaveLength(2);
  const [{ at, from, to, move }] = flights as [(typeof flights)[0]];
  expect(move).toMatchObject({ from: 0, to: 2, block: 1 });
  expect({ from, to }).toEqual(lane(places[0]!, places[2]!, discRadius(places) * 0.3));
  expect(at.x).toBeCloseTo(from.x + (to.x - from.x) / 4);
  expect(held).toEqual([4, 1, 0, 0, 0, 0, 0, 0]);
  expect([delivered, total]).toEqual([1, 28]);
});

it('without motion, a block is at one point of its link', () => {
  const { flights } = sceneAt(timeline, 1, places, { slow: undefined, isSmooth: false });
  const [{ at, from, to }] = flights as [(typeof flights)[0]];
  expect(at.y).toBeCloseTo(from.y + (to.y - from.y) * REST);
});

it('the moves are text, too', () => {
  expect(movesText(sceneAt(timeline, 1, places, { slow: undefined, isSmooth: true }), 4)).toBe(
    '0→2 B, 1→3 A',
  );
  expect([blockName(0, 26), blockName(25, 26), blockName(0, 27)]).toEqual(['A', 'Z', '1']);
});

it('a slow link is marked in both directions', () => {
  const marked = (slow: { a: number; b: number; ratio: number }): boolean[] =>
    sceneAt(timeline, 1.5, places, { slow, isSmooth: true }).flights.map(({ isSlow }) => isSlow);
  expect(marked({ a: 3, b: 1, ratio: 0.5 })).toEqual([false, true]);
  expect(marked({ a: 1, b: 3, ratio: 0.5 })).toEqual([false, true]);
});

it('the end is complete', () => {
  const { isComplete, flights } = sceneAt(timeline, timeline.duration, places, {
    slow: undefined,
    isSmooth: true,
  });
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

it('opposite blocks of one link do not meet', () => {
  const there = lane(places[0]!, places[2]!, 0.1);
  const back = lane(places[2]!, places[0]!, 0.1);
  expect(Math.hypot(there.from.x - back.to.x, there.from.y - back.to.y)).toBeCloseTo(0.2);
});

it('discs do not touch, also with racks', () => {
  for (const racks of [new Array<number>(64).fill(0), Array.from({ length: 64 }, (_, rank) => rank >> 3)]) {
    const circle = placesOf(racks);
    const distance = Math.hypot(circle[1]!.x - circle[0]!.x, circle[1]!.y - circle[0]!.y);
    expect(2 * discRadius(circle)).toBeLessThan(distance);
  }
});
