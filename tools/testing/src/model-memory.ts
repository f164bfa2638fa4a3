import { ModelQueue } from './model-queue.js';

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

  /** A part of the array as a queue of at most that many numbers. */
  takeQueue(capacity: number): ModelQueue {
    return new ModelQueue(this.take(1 + capacity));
  }

  /** All parts, not a copy: the next step changes them. The caller copies a state to keep it. */
  get current(): Int32Array {
    return this.#taken;
  }

  restore(snapshot: Int32Array): void {
    this.#words.set(snapshot);
  }
}
