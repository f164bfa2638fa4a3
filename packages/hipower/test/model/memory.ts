/** All state of a model lies in one array, so that a state is copied, compared and restored as a whole. */
export class ModelMemory {
  #next = 0;
  #words = new Int32Array(512);

  /** A part of the array. Take all parts before the first snapshot. */
  take(words: number): Int32Array {
    const part = this.#words.subarray(this.#next, this.#next + words);
    this.#next += words;
    if (this.#next > this.#words.length) throw new Error('the model has more state than expected');
    return part;
  }

  snapshot(): Int32Array {
    return this.#words.slice(0, this.#next);
  }

  restore(snapshot: Int32Array): void {
    this.#words.set(snapshot);
  }
}

export function keyOf(snapshot: Int32Array): string {
  return Buffer.from(snapshot.buffer, snapshot.byteOffset, snapshot.byteLength).toString('latin1');
}
