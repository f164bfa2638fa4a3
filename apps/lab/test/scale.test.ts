import { expect, it } from 'vitest';
import { linearScale, logScale } from '../src/charts/scale.js';

it('a linear scale begins at 0 and ends above the largest value', () => {
  const { ticks, at } = linearScale(9.828, 300, 0);
  expect(ticks).toEqual([0, 2, 4, 6, 8, 10]);
  expect([at(0), at(5), at(10)]).toEqual([300, 150, 0]);
});

it('a logarithmic scale of one power of 10 has a decade', () => {
  const { ticks, at } = logScale(100, 100, 400, 0);
  expect(ticks).toEqual([100, 1000]);
  expect(at(100)).toBe(400);
});

it('a logarithmic scale has powers of 10', () => {
  const { ticks, at } = logScale(4575, 1_309_187, 400, 0);
  expect(ticks).toEqual([1e3, 1e4, 1e5, 1e6, 1e7]);
  expect(at(1e4)).toBe(300);
});
