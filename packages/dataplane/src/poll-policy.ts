import { CALM_YIELDS, CONTESTED_YIELD_NS, MAX_REST_MS, MIN_REST_MS, NAPS_MS } from './constants.js';

/**
 * Decides when the worker stops polling (RDMC, DSN 2018, section 4.2: poll for 50 ms after each event, then
 * switch to interrupts).
 *
 * The paper's hosts had a core for every poller. Here several processes may share two cores, and a poller without
 * work takes the processor from those that have work. So every empty poll yields the processor, and
 * the time of the yield shows whether another thread wanted it. If so, polling pauses: the worker changes to
 * interrupts as soon as it is idle, as with a window of 0. After the pause the worker polls again, because
 * contention may have ended; if that is contested too, the next pause is twice as long, so that a machine that always
 * lacks cores is probed rarely: each probe can cost a time slice of a few milliseconds, while work waits for
 * this worker. Only many empty polls in a row with short yields show that contention has ended; then the pauses are
 * short again.
 *
 * Looks (`ProtocolContext.look`) are counted separately, so that a protocol that only looks does not affect the
 * others: looks neither prolong the window nor start a pause. If looks are the only work, the processor is yielded
 * between two of them. If that yield was contested, the thread naps instead for some time, so that it does not starve
 * threads that have work. The threads that fill the memory may be among these.
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

  /** Called after a completion or a command. */
  worked(now: number): void {
    this.#lastWork = now;
  }

  /** An empty poll yielded the processor for `nanoseconds`; returns whether it was contested. */
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

  /** Whether an idle worker should arm the channel and sleep now. */
  maySleep(now: number): boolean {
    if (this.windowMs === Number.POSITIVE_INFINITY) return false;
    return now < this.#restUntil || now - this.#lastWork >= this.windowMs;
  }

  /** The processor was yielded for `nanoseconds` between two looks. */
  yieldedBetweenLooks(nanoseconds: number, now: number): void {
    if (nanoseconds > CONTESTED_YIELD_NS) this.#napUntil = now + NAPS_MS;
  }

  /** Whether to nap between two looks. A worker with a window of Infinity uses a whole processor, and does not nap. */
  mayNap(now: number): boolean {
    return now < this.#napUntil && this.windowMs !== Number.POSITIVE_INFINITY;
  }
}
