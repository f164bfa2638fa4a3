import { createHash } from 'node:crypto';
import { fillGradients } from './gradients.js';

/** The sum of all workers' gradients, in the order of the workers, by one process: the values that every worker must have, bit for bit. */
export function referenceSum(values: number, workers: number, iteration: number): Float32Array {
  const sum = new Float32Array(values);
  const gradients = new Float32Array(values);
  fillGradients(sum, 0, iteration);
  for (let worker = 1; worker < workers; worker += 1) {
    fillGradients(gradients, worker, iteration);
    for (let i = 0; i < values; i += 1) sum[i]! += gradients[i]!;
  }
  return sum;
}

/** SHA-256 of the values' bytes, in hexadecimal: equal exactly if all values are equal bit for bit. */
export function hashOf(values: Float32Array): string {
  return createHash('sha256')
    .update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    .digest('hex');
}
