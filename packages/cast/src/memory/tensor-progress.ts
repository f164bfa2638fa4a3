import type { Coverage } from './coverage.js';
import { headLength, PREFIX_BYTES, parseTensors, type Tensor } from './safetensors.js';

/**
 * Finds the tensors of a file that are whole, while bytes of it arrive. Ranges may come in any order, and more than once:
 * then the first bytes of the header count.
 */
export class TensorProgress {
  /** The tensors, when the header is here. */
  tensors: readonly Tensor[] | undefined;
  /** Bytes of the header and of the length before it, as soon as they are known. */
  headBytes = PREFIX_BYTES;
  #head: Buffer;
  /** Bytes of `#head` that are here. */
  #filled = 0;
  readonly #shown = new Set<Tensor>();

  /** @throws CastError ERR_RDMC_INVALID_SAFETENSORS where the file is too short */
  constructor(private readonly fileBytes: number) {
    this.#head = Buffer.alloc(PREFIX_BYTES);
    if (fileBytes < PREFIX_BYTES) headLength(this.#head, fileBytes);
  }

  /**
   * Takes bytes of the header, as far as the data has the next ones.
   * @throws CastError ERR_RDMC_INVALID_SAFETENSORS
   */
  read(offset: number, data: Uint8Array): void {
    while (!this.tensors && offset <= this.#filled && offset + data.length > this.#filled) {
      const from = this.#filled - offset;
      const part = data.subarray(from, from + this.#head.length - this.#filled);
      this.#head.set(part, this.#filled);
      this.#filled += part.length;
      if (this.#filled === this.#head.length) this.#complete();
    }
  }

  /** The tensors in a range that have become whole. @param here what has arrived, with this range */
  whole(begin: number, end: number, here: Coverage): Tensor[] {
    const found: Tensor[] = [];
    for (let at = this.#firstEndingAt(begin); at < (this.tensors?.length ?? 0); at += 1) {
      const tensor = this.tensors![at]!;
      if (tensor.begin > end) break;
      if (this.#shown.has(tensor) || !here.covers(tensor.begin, tensor.end)) continue;
      this.#shown.add(tensor);
      found.push(tensor);
    }
    return found;
  }

  /** The length, or all of the header, is here. */
  #complete(): void {
    if (this.headBytes === PREFIX_BYTES) {
      this.headBytes = headLength(this.#head, this.fileBytes);
      const prefix = this.#head;
      this.#head = Buffer.alloc(this.headBytes);
      this.#head.set(prefix);
      if (this.#filled < this.headBytes) return;
    }
    this.tensors = parseTensors(this.#head, this.fileBytes);
    this.#head = Buffer.alloc(0);
  }

  /** Index of the first tensor that does not end before `offset`. */
  #firstEndingAt(offset: number): number {
    const tensors = this.tensors ?? [];
    let [low, high] = [0, tensors.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tensors[middle]!.end < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
