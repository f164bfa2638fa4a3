/** All state of a model is in one array, so that a state is copied, compared and restored as a whole. */
export class ModelMemory {
  #next = 0;
  #words = new Int32Array(512);
  #taken = this.#words.subarray(0, 0);

  /** A part of the array. Take all parts before the first snapshot. */
  take(words: number): Int32Array {
    const part = this.#words.subarray(this.#next, this.#next + words);
    this.#next += words;
    if (this.#next > this.#words.length) throw new Error('the model has more state than expected');
    this.#taken = this.#words.subarray(0, this.#next);
    return part;
  }

  /** All parts, not a copy: the next step changes them. The caller copies a state to keep it. */
  get current(): Int32Array {
    return this.#taken;
  }

  restore(snapshot: Int32Array): void {
    this.#words.set(snapshot);
  }
}

export function keyOf(state: Int32Array): string {
  return Buffer.from(state.buffer, state.byteOffset, state.byteLength).toString('latin1');
}
