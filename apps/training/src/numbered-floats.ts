/**
 * Format of parameters and gradients between the trainer and its workers: the number of the step as u64, and fp32
 * values, in this machine's byte order, because all processes are on this machine.
 */
const NUMBER_BYTES = 8;

export function numberedBytes(values: number): number {
  return NUMBER_BYTES + values * Float32Array.BYTES_PER_ELEMENT;
}

/** Views of such bytes, which begin at a multiple of 8; nothing is copied. */
export class NumberedFloats {
  readonly #number: BigUint64Array;
  readonly values: Float32Array;

  constructor({ buffer, byteOffset, byteLength }: Uint8Array) {
    this.#number = new BigUint64Array(buffer, byteOffset, 1);
    const values = (byteLength - NUMBER_BYTES) / Float32Array.BYTES_PER_ELEMENT;
    this.values = new Float32Array(buffer, byteOffset + NUMBER_BYTES, values);
  }

  get step(): number {
    return Number(this.#number[0]);
  }

  set step(step: number) {
    this.#number[0] = BigInt(step);
  }
}
