import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { root } from '../src/root.js';

const { Pace } = await import(pathToFileURL(join(root, 'tools/bench/hipower/pace.mjs')).href);

/** The times that the due messages of a burst carry. */
function burst(pace: InstanceType<typeof Pace>, from: number, [began, ended]: readonly [number, number]) {
  const stamps: number[] = [];
  pace.beginBurst(began);
  for (let message = from; pace.isDue(message); message += 1) stamps.push(pace.stamp(message));
  pace.endBurst(ended);
  return stamps;
}

it('a sender that sleeps does not count its sleep as latency, and keeps its rate', () => {
  const pace = new Pace(1000, 4000, true);
  expect(burst(pace, 0, [1001.2, 1001.21])).toEqual([1001.2, 1001.2, 1001.2, 1001.2, 1001.2]);
  expect(burst(pace, 5, [1002.3, 1002.31])).toEqual([1002.3, 1002.3, 1002.3, 1002.3, 1002.3]);
});

it('a message that became due while the channel did not have room carries the time at which it was due', () => {
  const pace = new Pace(1000, 1000, true);
  expect(burst(pace, 0, [1000.5, 1003.5])).toEqual([1000.5]);
  // Due at 1001 to 1003, in the burst that waited; and at 1004, in the sleep after it.
  expect(burst(pace, 1, [1004.5, 1004.6])).toEqual([1001, 1002, 1003, 1004.5]);
});

it('a sender that does not sleep stamps messages with the times at which they are due', () => {
  const pace = new Pace(1000, 1000, false);
  expect(burst(pace, 0, [1001.5, 1001.6])).toEqual([1000, 1001]);
});
