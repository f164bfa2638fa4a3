import { describe, expect, it } from 'vitest';
import { automaticWindows } from '../src/windows.js';

const ahead = (algorithm: Parameters<typeof automaticWindows>[0], nodes: number, transports: string[]) =>
  automaticWindows(algorithm, nodes, transports).sendWindow > 1;

describe('automatic windows', () => {
  it('keep a pipeline in step over a network if its number of members is not a power of two', () => {
    const inStep = Array.from({ length: 20 }, (_, index) => index + 2).filter(
      (nodes) => !ahead('binomial-pipeline', nodes, ['tcp']),
    );
    expect(inStep).toEqual([5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21]);
    expect(automaticWindows('binomial-pipeline', 6, ['roce'])).toEqual({ sendWindow: 1, readyWindow: 1 });
  });

  it('work ahead in shared memory, but not where one of the transports is a network', () => {
    expect(ahead('binomial-pipeline', 6, ['shm'])).toBe(true);
    expect(ahead('binomial-pipeline', 6, ['shm', 'tcp'])).toBe(false);
    expect(ahead('hybrid', 8, ['shm', 'tcp'])).toBe(false);
  });

  it.each(['chain', 'binomial-tree', 'sequential'] as const)('work ahead in a %s', (algorithm) => {
    for (let nodes = 2; nodes <= 65; nodes += 1) expect(ahead(algorithm, nodes, ['tcp'])).toBe(true);
  });
});
