import { performance } from 'node:perf_hooks';
import { yieldProcessor } from '@rdmc/verbs';

/** A yield of the processor that took longer than this means that somebody else had work for it. */
const CONTESTED_YIELD_NS = 20_000;
/** For so long after that the processor counts as contested. */
const CONTESTED_MS = 50;
/** Without work for so long: there is no stream of small messages, whose gaps are shorter. A pause of a millisecond is slept through. */
const NAP_AFTER_MS = 0.2;
/** Length of a nap: short beside what fills a pool of large messages, long beside a look. Longer pauses belong to timers. */
const NAP_MS = 0.1;
const NAP_WORD = new Int32Array(new SharedArrayBuffer(4));

/**
 * What a worker does between two looks that are all it has to do. It gives the processor away; and where others want
 * it (more pollers than cores) that is not enough, and the thread sleeps for a tenth of a millisecond, so that it does
 * not starve those who have work: the threads that fill its memory among them.
 */
export class GiveWay {
  #idleSince = 0;
  #contestedUntil = 0;

  /** There was work in this turn. */
  worked(): void {
    this.#idleSince = 0;
  }

  /** There was none. `atOnce`: a nap needs no wait, where it has its reason. */
  giveWay(atOnce: boolean): void {
    const now = performance.now();
    if (this.#idleSince === 0) this.#idleSince = now;
    if (now < this.#contestedUntil && (atOnce || now - this.#idleSince > NAP_AFTER_MS)) {
      Atomics.wait(NAP_WORD, 0, 0, NAP_MS);
    } else if (yieldProcessor() > CONTESTED_YIELD_NS) {
      this.#contestedUntil = now + CONTESTED_MS;
    }
  }
}
