import { describe, expect, it } from 'vitest';
import { checksumOf, fillGradient, sumOf, targetOf, update } from '../src/model.js';
import { NumberedFloats, numberedBytes } from '../src/numbered-floats.js';
import { referenceRecords } from '../src/reference.js';

const LENGTH = 1000;

describe('the model', () => {
  it('converges to the mean of the targets', () => {
    const targets = [1, 2, 3].map((worker) => targetOf(worker, LENGTH));
    const parameters = new Float32Array(LENGTH);
    for (let step = 0; step < 100; step += 1) {
      const gradients = targets.map((target) => {
        const gradient = new Float32Array(LENGTH);
        fillGradient(gradient, parameters, target);
        return gradient;
      });
      update(parameters, sumOf(gradients, LENGTH), targets.length);
    }
    const mean = sumOf(targets, LENGTH).map((sum) => sum / targets.length);
    parameters.forEach((value, index) => {
      expect(Math.abs(value - mean[index]!)).toBeLessThan(1e-5);
    });
  });

  it('has a different checksum with a different crew', () => {
    const records = (workers: number[]) =>
      referenceRecords([{ step: 1, workers, checksum: '' }], LENGTH).map(({ checksum }) => checksum);
    expect(records([1, 2])).toEqual(records([1, 2]));
    expect(records([1, 2])).not.toEqual(records([1, 3]));
    expect(checksumOf(targetOf(1, LENGTH))).not.toBe(checksumOf(targetOf(2, LENGTH)));
  });
});

it('values follow the number of their step', () => {
  const floats = new NumberedFloats(new Uint8Array(numberedBytes(3)));
  floats.step = 7;
  floats.values.set([1, 2, 3]);
  expect([floats.step, [...floats.values]]).toEqual([7, [1, 2, 3]]);
});
