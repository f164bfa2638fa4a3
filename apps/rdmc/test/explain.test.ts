import { describe, expect, it } from 'vitest';
import type { Measurement } from '../src/demo/events.js';
import { explain } from '../src/demo/explain.js';
import { median } from '../src/statistics.js';

function measurement(algorithm: Measurement['algorithm'], timesOneCopy: number, steps: number): Measurement {
  const seconds = timesOneCopy / 100;
  return {
    algorithm,
    blocks: 95,
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
  const measured = [measurement('sequential', 6.98, 665), measurement('binomial-pipeline', 1.05, 97)];

  it('with links: the copies through the link of the root, and the steps of the pipeline', () => {
    expect(explain(measured, { members: 8, processors: 2, transport: 'tcp', ownLinks: true })).toBe(
      'binomial-pipeline took 1.05 times one copy, sequential 6.98: sequential sends 7 copies through the link of the ' +
        'root; in the pipeline all links work at once, for 97 steps of one block where one copy has 95.',
    );
  });

  it('with links is about the pipeline, also where a chain is faster', () => {
    const circumstances = { members: 8, processors: 2, transport: 'tcp', ownLinks: true } as const;
    expect(explain([measurement('chain', 1.01, 101), ...measured], circumstances)).toMatch(
      /^binomial-pipeline took 1\.05 times one copy, sequential 6\.98: /,
    );
    expect(explain([measurement('chain', 1.01, 101)], circumstances)).toBe(
      'chain took 1.01 times one copy: each member has a link of its own.',
    );
  });

  it('over shared memory: the work of the processors', () => {
    expect(explain(measured, { members: 8, processors: 2, transport: 'shm', ownLinks: false })).toBe(
      'binomial-pipeline took 1.05 times one copy, sequential 6.98: shared memory does not have links: every copy is work ' +
        "of the sender's processor, and 7 copies on 2 processors take the time of about 3.5 at best, with every algorithm.",
    );
  });

  it.each([
    [
      'tcp',
      8,
      "without a limit of links every copy is work of this machine's kernel, and 8 processors work for all members at once",
    ],
    ['roce', 2, 'all members share one RDMA device, so every copy goes through the same port'],
  ] as const)('over %s with %d processors', (transport, processors, why) => {
    const sentence = explain([measurement('chain', 1.2, 11)], {
      members: 4,
      processors,
      transport,
      ownLinks: false,
    });
    expect(sentence).toBe(`chain took 1.20 times one copy: ${why}.`);
  });
});

it('the median of an even number of values is the upper middle one', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(3);
});
