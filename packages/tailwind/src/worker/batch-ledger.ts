import type { Pair } from './pair.js';

/** Whose requests lie in the batch that the device gets next: all pairs of a worker share one submission queue. */
export class BatchLedger {
  #pairs: (Pair | undefined)[] = [];

  /** A request of this pair is the batch's one at this position. */
  note(index: number, pair: Pair): void {
    // Positions only rise within a batch.
    if (index < this.#pairs.length) this.#pairs = [];
    this.#pairs[index] = pair;
  }

  /** The device refused the request at this position, and with it all later ones of the same pair. */
  refused(index: number): { pair: Pair; requests: number } | undefined {
    const pair = this.#pairs[index];
    if (!pair) return undefined;
    return { pair, requests: this.#pairs.filter((other, at) => at >= index && other === pair).length };
  }
}
