import { describe, expect, it } from 'vitest';
import { type Break, originOf } from '../src/worker/broken-pairs.js';

/** `sources`: by neighbour, those for whose blocks relays to it waited. */
function origin(pair: number, breaks: readonly Break[], sources: readonly (readonly number[])[]): number {
  return originOf(pair, { breakOf: (at) => breaks[at]!, sourcesOf: (at) => sources[at]! });
}

describe('the origin of broken queue pairs', () => {
  it('is a queue pair that failed by itself, whatever waited for what', () => {
    expect(origin(0, ['own', 'own'], [[1], [0]])).toBe(0);
    expect(origin(1, ['own', 'own'], [[1], [0]])).toBe(1);
  });

  it('is at the end of the steps, also where they form a circle', () => {
    expect(origin(0, ['wait', 'wait', 'own'], [[1], [2], []])).toBe(2);
    // Both exchange blocks with 2, and with one another.
    const circle = [
      [1, 2],
      [0, 2],
      [0, 1],
    ];
    for (const pair of [0, 1, 2]) expect(origin(pair, ['wait', 'wait', 'own'], circle)).toBe(2);
  });

  it('is behind a request that was refused because it would wait for a broken queue pair', () => {
    expect(origin(0, ['none', 'own'], [[1], []])).toBe(1);
  });

  it('is that of the request if nothing else has failed', () => {
    expect(origin(0, ['none', 'none'], [[1], []])).toBe(0);
    expect(origin(0, ['wait', 'wait'], [[1], [0]])).toBe(0);
  });
});
