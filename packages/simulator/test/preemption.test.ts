import { describe, expect, it } from 'vitest';
import { Preemptions } from '../src/preemption.js';
import { Random } from '../src/random.js';

function scripted(...list: [at: number, lasts: number][]): Preemptions {
  const preemptions = list.map(([at, lasts]) => ({ node: 0, at, lasts }));
  return new Preemptions(preemptions, undefined, new Random(1));
}

describe('Preemptions', () => {
  it('delay work that is ready while the processor is away', () => {
    expect(scripted([10, 5]).start(9)).toBe(9);
    expect(scripted([10, 5]).start(10)).toBe(15);
    expect(scripted([10, 5]).start(12)).toBe(15);
    expect(scripted([10, 5]).start(15)).toBe(15);
    expect(scripted([10, 5], [14, 3]).start(12)).toBe(17);
  });

  it('lengthen work in which they begin', () => {
    expect(scripted([10, 5]).end(8, 2)).toBe(10);
    expect(scripted([10, 5]).end(8, 3)).toBe(16);
    expect(scripted([10, 5], [15.5, 4]).end(8, 3)).toBe(20);
    expect(scripted([20, 5], [10, 5]).end(8, 3)).toBe(16);
  });

  it('count once', () => {
    const preemptions = scripted([10, 5]);
    expect(preemptions.end(8, 3)).toBe(16);
    expect(preemptions.start(12)).toBe(12);
  });
});
