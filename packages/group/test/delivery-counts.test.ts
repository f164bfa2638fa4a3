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

  it('a member that failed is waited for only if it said so itself, and until it is lost', async () => {
    const others = new DeliveryCounts([1, 2, 3], 0);
    others.speaks(2);
    others.failed(2);
    others.failed(1);
    others.stopped(3, 4);
    const collected = others.collect(LONG_MS);
    // It would end in between, if nobody was waited for.
    await new Promise((resolve) => setImmediate(resolve));
    others.stopped(2, 5);
    expect([...(await collected)]).toEqual([
      [2, 5],
      [3, 4],
    ]);
    const silent = new DeliveryCounts([1], 0);
    silent.speaks(1);
    silent.failed(1);
    const nothing = silent.collect(LONG_MS);
    silent.lost(1);
    expect([...(await nothing)]).toEqual([]);
  });

  it('a survivor that says nothing is missing after the time; later words change nothing', async () => {
    const counts = new DeliveryCounts([1, 2], 1);
    counts.stopped(1, 5);
    const collected = await counts.collect(1);
    counts.stopped(2, 5);
    expect([...collected]).toEqual([[1, 5]]);
  });
});
