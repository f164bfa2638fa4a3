import { describe, expect, it } from 'vitest';
import { DeliveryCounts } from '../src/delivery-counts.js';

/** Long enough that a test which waits for it fails by its own time-out. */
const LONG_MS = 600_000;

describe('the numbers of messages that the receivers of a failed group have', () => {
  it('are known when all others have said theirs; what comes from the root does not count', async () => {
    const counts = new DeliveryCounts([3, 1, 2], 1);
    counts.stopped(1, 5);
    counts.stopped(0, 9);
    counts.stopped(3, 4);
    counts.stopped(2, 6);
    expect([...(await counts.collect(LONG_MS))]).toEqual([
      [1, 5],
      [2, 6],
      [3, 4],
    ]);
  });

  it('a lost member is not waited for, and the first number of a member stays', async () => {
    const counts = new DeliveryCounts([1, 2], 0);
    counts.stopped(1, 5);
    counts.stopped(1, 7);
    const collected = counts.collect(LONG_MS);
    counts.lost(2);
    expect([...(await collected)]).toEqual([[1, 5]]);
  });

  it('a survivor that says nothing is missing after the time; later words change nothing', async () => {
    const counts = new DeliveryCounts([1, 2], 1);
    counts.stopped(1, 5);
    const collected = await counts.collect(1);
    counts.stopped(2, 5);
    expect([...collected]).toEqual([[1, 5]]);
  });
});
