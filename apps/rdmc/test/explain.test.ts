import { describe, expect, it } from 'vitest';
import type { Measurement } from '../src/demo/events.js';
import { explain } from '../src/demo/explain.js';
import { median } from '../src/statistics.js';

function measurement(algorithm: Measurement['algorithm'], timesOneCopy: number, steps: number): Measurement {
  const seconds = timesOneCopy / 100;
  return {
    algorithm,
    blocks: 10,
    steps,
    rounds: 3,
    seconds,
    fastestSeconds: seconds,
    slowestSeconds: seconds,
    deliveredBytesPerSecond: 1,
    timesOneCopy,
  };
}

describe('the sentence', () => {
  it('has the fastest algorithm, the limit of the processors, and the steps', () => {
    const measured = [measurement('sequential', 10.2, 665), measurement('binomial-pipeline', 4.1, 97)];
    expect(explain(measured, { members: 8, processors: 2, transport: 'shm' })).toBe(
      'binomial-pipeline took 4.1 times one copy, sequential 10.2: here a transfer is a copy made by the sender, ' +
        'so 7 deliveries on 2 processors take about 3.5 copies at best; where every member has its own ' +
        'link, steps decide: 97 for the pipeline, 665 for sequential.',
    );
  });

  it('handles a single algorithm, and enough processors', () => {
    const sentence = explain([measurement('chain', 1.2, 11)], {
      members: 4,
      processors: 8,
      transport: 'tcp',
    });
    expect(sentence).toBe(
      'chain took 1.2 times one copy: here a transfer goes through the kernel, and with 8 processors all members work at once.',
    );
  });
});

it('the median of an even number of values is the upper middle one', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(3);
});
