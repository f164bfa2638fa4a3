import { describe, expect, it } from 'vitest';
import { WATCH_LINGER_LOOKS } from '../src/constants.js';
import { NeighbourWatch } from '../src/worker/neighbour-watch.js';

const LIMIT = 5;

/** A watch of two neighbours, and its calls. */
function watching(limitLooks = LIMIT) {
  const counts = [0, 0];
  const probes: number[] = [];
  const silent: number[] = [];
  const port = {
    cameFrom: (pair: number) => counts[pair]!,
    probe: (pair: number) => void probes.push(pair),
    silent: (pair: number) => void silent.push(pair),
  };
  return { watch: new NeighbourWatch(port, counts.length, limitLooks), counts, probes, silent };
}

describe('NeighbourWatch', () => {
  it('probes only a neighbour from which nothing arrived since the last look', () => {
    const { watch, counts, probes } = watching();
    counts[1] = 1;
    expect(watch.look(true)).toBe(true);
    expect(probes).toEqual([0]);
    counts[1] = 2;
    watch.look(true);
    expect(probes).toEqual([0]);
    watch.look(true);
    expect(probes).toEqual([0, 1]);
  });

  it('posts one probe at a time, and the next one after the answer', () => {
    const { watch, probes } = watching();
    watch.look(true);
    watch.look(true);
    expect(probes).toEqual([0, 1]);
    watch.answered(1);
    watch.look(true);
    expect(probes).toEqual([0, 1, 1]);
  });

  it('reports a neighbour whose probe is older than the limit', () => {
    const { watch, silent } = watching();
    for (let look = 0; look < LIMIT; look += 1) {
      watch.look(true);
      watch.answered(0);
    }
    expect(silent).toEqual([]);
    watch.look(true);
    expect(silent).toEqual([1]);
  });

  it('waits for the device if there is no limit', () => {
    const { watch, silent } = watching(Number.POSITIVE_INFINITY);
    for (let look = 0; look < 1000; look += 1) watch.look(true);
    expect(silent).toEqual([]);
  });

  it('does not watch a group before its first message', () => {
    const { watch, probes } = watching();
    expect(watch.look(false)).toBe(false);
    expect(probes).toEqual([]);
  });

  it('continues for some looks after the last message, and again after the next one', () => {
    const { watch, counts, probes } = watching();
    watch.look(true);
    for (let look = 0; look < WATCH_LINGER_LOOKS; look += 1) expect(watch.look(false)).toBe(true);
    expect(watch.look(false)).toBe(false);
    for (const pair of [0, 1]) watch.answered(pair);
    probes.length = 0;
    expect(watch.look(false)).toBe(false);
    expect(probes).toEqual([]);
    // A message that came and went between two looks.
    counts[0] = 1;
    expect(watch.look(false)).toBe(true);
    expect(probes).toEqual([1]);
  });
});
