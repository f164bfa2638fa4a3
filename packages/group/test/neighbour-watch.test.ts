import { algorithms } from '@rdmc/schedule';
import { describe, expect, it } from 'vitest';
import { WATCH_INTERVAL_MS, WATCH_LINGER_MS, WATCH_PATIENCE_MS } from '../src/constants.js';
import { blockPatienceMs, NeighbourWatch } from '../src/worker/neighbour-watch.js';

const LIMIT_LOOKS = 5;
const LIMIT_MS = LIMIT_LOOKS * WATCH_INTERVAL_MS;

/** A watch of two neighbours, and its calls. */
function watching(limitMs = LIMIT_MS - 1, patienceMs = 0) {
  const counts = [0, 0];
  const probes: number[] = [];
  const silent: number[] = [];
  const port = {
    cameFrom: (pair: number) => counts[pair]!,
    probe: (pair: number) => void probes.push(pair),
    silent: (pair: number) => void silent.push(pair),
  };
  const watch = new NeighbourWatch(port, counts.length, { limitMs, patienceMs });
  const look = (isBusy: boolean): boolean => watch.look(isBusy, WATCH_INTERVAL_MS);
  return { watch: { look, answered: (pair: number) => watch.answered(pair) }, counts, probes, silent };
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

  it('where what comes has one order, probes nobody while anything comes, and then all', () => {
    const { watch, counts, probes } = watching(LIMIT_MS, blockPatienceMs('binomial-pipeline'));
    for (let look = 0; look < 10; look += 1) {
      counts[look % 2]! += 1;
      expect(watch.look(true)).toBe(true);
    }
    expect(probes).toEqual([]);
    watch.look(true);
    expect(probes).toEqual([0, 1]);
  });

  it('where neighbours go on without one another, probes the one from which nothing comes for long', () => {
    for (const algorithm of algorithms.filter((each) => each !== 'binomial-pipeline')) {
      const { watch, counts, probes } = watching(LIMIT_MS, blockPatienceMs(algorithm));
      const lookFor = (ms: number): void => {
        for (let look = 0; look < ms / WATCH_INTERVAL_MS; look += 1) {
          counts[0]! += 1;
          watch.look(true);
        }
      };
      lookFor(WATCH_PATIENCE_MS);
      expect(probes).toEqual([]);
      lookFor(WATCH_INTERVAL_MS);
      expect(probes).toEqual([1]);
      // The answer counts as well.
      watch.answered(1);
      lookFor(WATCH_PATIENCE_MS);
      expect(probes).toEqual([1]);
      lookFor(WATCH_INTERVAL_MS);
      expect(probes).toEqual([1, 1]);
    }
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
    for (let look = 0; look < LIMIT_LOOKS; look += 1) {
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
    for (let look = 0; look < WATCH_LINGER_MS / WATCH_INTERVAL_MS; look += 1)
      expect(watch.look(false)).toBe(true);
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
