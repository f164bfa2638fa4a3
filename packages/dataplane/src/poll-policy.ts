import { CALM_YIELDS, CONTESTED_YIELD_NS, MAX_REST_MS, MIN_REST_MS, NAPS_MS } from './constants.js';

/**
 * Decides when the worker stops polling (RDMC, DSN 2018, section 4.2: poll for 50 ms after each event, then
 * switch to interrupts).
 *
 * The paper's hosts had a core for every poller. Here several processes may share two cores, and a poller that
 * finds nothing takes the processor from those that have work. So every empty poll gives the processor away, and
 * the time until it comes back tells whether somebody else wanted it. If so, polling rests: the worker goes to
 * interrupts as soon as it runs dry, as with a window of 0. When the rest is over the worker polls again, since
 * contention passes; if that is contested too, the next rest is twice as long, so that a machine that is always
 * short of cores is probed seldom: each probe can cost a time slice of a few milliseconds, with work waiting for
 * the prober. Only empty polls that came back at once, many in a row, prove calm; then the rests are short again.
 *
 * Looks (`ProtocolContext.look`) have an account of their own, so that a protocol that only looks changes nothing for the
 * others: they neither prolong the window nor begin a rest. Where looks are all there is to do, the processor is given away
 * between two of them, and where that was contested, the thread naps instead for a while, so that it does not starve those
 * who have work: the threads that fill the memory it looks at among them.
 *
 * Times are milliseconds of one monotonic clock.
 */
export class PollPolicy {
  #lastWork: number;
  #restUntil = Number.NEGATIVE_INFINITY;
  #nextRestMs = MIN_REST_MS;
  #calmYields = 0;
  #napUntil = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly windowMs: number,
    now: number,
  ) {
    this.#lastWork = now;
  }

  /** There was a completion or a command. */
  worked(now: number): void {
    this.#lastWork = now;
  }

  /** An empty poll gave the processor away for so long; returns whether it was contested. */
  yielded(nanoseconds: number, now: number): boolean {
    if (nanoseconds <= CONTESTED_YIELD_NS) {
      this.#calmYields += 1;
      if (this.#calmYields === CALM_YIELDS) this.#nextRestMs = MIN_REST_MS;
      return false;
    }
    this.#calmYields = 0;
    this.#restUntil = now + this.#nextRestMs;
    this.#nextRestMs = Math.min(this.#nextRestMs * 2, MAX_REST_MS);
    return true;
  }

  /** Whether a worker that finds nothing now should arm the channel and sleep. */
  maySleep(now: number): boolean {
    if (this.windowMs === Number.POSITIVE_INFINITY) return false;
    return now < this.#restUntil || now - this.#lastWork >= this.windowMs;
  }

  /** Between two looks the processor was given away for so long. */
  yieldedBetweenLooks(nanoseconds: number, now: number): void {
    if (nanoseconds > CONTESTED_YIELD_NS) this.#napUntil = now + NAPS_MS;
  }

  /** Whether to nap between two looks. A worker with a window of Infinity has a processor to itself. */
  mayNap(now: number): boolean {
    return now < this.#napUntil && this.windowMs !== Number.POSITIVE_INFINITY;
  }
}
