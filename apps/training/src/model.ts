import { createHash } from 'node:crypto';

/** Step size against the mean of the gradients. */
const RATE = 0.25;

/**
 * The target of a worker's data for the parameters: values from −1 to 1 with all bits of the significand in use, the same on
 * every machine. Training moves the parameters to the mean of all workers' targets.
 */
export function targetOf(worker: number, length: number): Float32Array {
  const target = new Float32Array(length);
  let state = Math.imul(worker + 1, 0x9e37_79b1) | 1;
  for (let i = 0; i < length; i += 1) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    target[i] = state / 0x8000_0000;
  }
  return target;
}

/** The gradient of half the squared distance from the target. */
export function fillGradient(into: Float32Array, parameters: Float32Array, target: Float32Array): void {
  for (let i = 0; i < into.length; i += 1) into[i] = parameters[i]! - target[i]!;
}

/** Sums the gradients, in the order of the list: fp32 sums depend on it. */
export function sumOf(gradients: readonly Float32Array[], length: number): Float32Array {
  const sum = new Float32Array(length);
  for (const gradient of gradients) for (let i = 0; i < length; i += 1) sum[i]! += gradient[i]!;
  return sum;
}

export function update(parameters: Float32Array, sum: Float32Array, workers: number): void {
  for (let i = 0; i < parameters.length; i += 1) parameters[i]! -= (RATE * sum[i]!) / workers;
}

/** SHA-256 of the values' bytes. */
export function checksumOf(values: Float32Array): string {
  return createHash('sha256').update(bytesOf(values)).digest('hex');
}

export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
