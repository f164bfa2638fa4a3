import { describe, expect, it } from 'vitest';
import { blocksOf, fillGradients, referenceSum, resnet152 } from '../src/index.js';

describe('ResNet-152', () => {
  const tensors = resnet152();
  const count = (kind: string): number => tensors.filter((tensor) => tensor.kind === kind).length;

  it('has 467 trainable tensors and 60,192,808 values', () => {
    expect([count('convolution'), count('batch-norm'), count('fully-connected')]).toEqual([155, 310, 2]);
    expect(tensors.length).toBe(467);
    expect(tensors.reduce((sum, { length }) => sum + length, 0)).toBe(60_192_808);
    expect(Math.max(...tensors.map(({ length }) => length * 4))).toBe(9_437_184);
    expect(new Set(tensors.map(({ name }) => name)).size).toBe(467);
  });

  it('is cut into blocks that cover every value once, none across tensors', () => {
    const ends = new Set<number>();
    tensors.reduce((end, { length }) => {
      ends.add(end + length);
      return end + length;
    }, 0);
    for (const blockBytes of [8, 4096, 65_536, 1 << 26].slice(1)) {
      const blocks = blocksOf(tensors, blockBytes);
      let next = 0;
      for (const { first, length } of blocks) {
        expect(first).toBe(next);
        expect(length * 4).toBeLessThanOrEqual(blockBytes);
        next += length;
        ends.delete(next);
      }
      expect(next).toBe(60_192_808);
      expect(ends.size).toBe(0);
    }
    expect(blocksOf(tensors, 1 << 26).length).toBe(467);
  });
});

it('gradients are the same everywhere, and sums depend on their order', () => {
  const [a, b] = [new Float32Array(1000), new Float32Array(1000)];
  fillGradients(a, 1, 2);
  fillGradients(b, 1, 2);
  expect(a).toEqual(b);
  fillGradients(b, 2, 2);
  expect(a).not.toEqual(b);
  expect([Math.min(...a) >= -1, Math.max(...a) <= 1]).toEqual([true, true]);
  const sum = referenceSum(1000, 3, 0);
  const backwards = new Float32Array(1000);
  for (const worker of [2, 1, 0]) {
    fillGradients(a, worker, 0);
    for (let i = 0; i < 1000; i += 1) backwards[i]! += a[i]!;
  }
  expect(sum).not.toEqual(backwards);
  expect(sum.every((value, i) => Math.abs(value - backwards[i]!) < 1e-5)).toBe(true);
});
