/**
 * Simulates a training step: fills `into` with the gradients of one worker in one iteration, the same on every
 * machine. Values from −1 to 1 with all bits of the significand in use, so that the order of a sum matters.
 */
export function fillGradients(into: Float32Array, worker: number, iteration: number): void {
  let state = (Math.imul(worker + 1, 0x9e37_79b1) ^ Math.imul(iteration + 1, 0x85eb_ca6b)) | 1;
  for (let i = 0; i < into.length; i += 1) {
    // xorshift32
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    into[i] = state / 0x8000_0000;
  }
}
