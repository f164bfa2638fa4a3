import { performance } from 'node:perf_hooks';
import { yieldProcessor } from '@rdmc/verbs';

/** A yield of the processor that took longer than this means that somebody else had work for it. */
const CONTESTED_YIELD_NS = 20_000;
/** For so long after that, a turn without work ends with a nap. */
const CONTESTED_MS = 50;
/** Length of a nap: short beside what fills a pool, long beside a look. Longer pauses belong to timers. */
const NAP_MS = 0.1;
const NAP_WORD = new Int32Array(new SharedArrayBuffer(4));

/**
 * What a worker does between two looks that are all it has to do. It gives the processor away; and where others want
 * it (more pollers than cores) that is not enough, and the thread sleeps for a tenth of a millisecond, so that it does
 * not starve those who have work: the threads that fill its memory among them.
 */
export class GiveWay {
  #contestedUntil = 0;

  giveWay(): void {
    const now = performance.now();
    if (now < this.#contestedUntil) Atomics.wait(NAP_WORD, 0, 0, NAP_MS);
    else if (yieldProcessor() > CONTESTED_YIELD_NS) this.#contestedUntil = now + CONTESTED_MS;
  }
}
