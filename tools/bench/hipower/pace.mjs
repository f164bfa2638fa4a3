// When the messages of a sender at a fixed rate are due, and the times that they carry. Times are milliseconds of one clock.

/**
 * A sender that sleeps sends in bursts. A message that became due in the sleep carries the time at which the burst began: the
 * sleep is the generator's own, and is not a part of the latency of a channel. One that became due in a burst carries the time
 * at which it was due: then the channel did not have room, and that is a part.
 */
export class Pace {
  #started;
  #interval;
  #isSleeping;
  #began;
  #ended;

  constructor(started, perSecond, isSleeping) {
    this.#started = started;
    this.#interval = 1000 / perSecond;
    this.#isSleeping = isSleeping;
    this.#began = this.#ended = started;
  }

  beginBurst(now) {
    this.#began = now;
  }

  endBurst(now) {
    this.#ended = now;
  }

  #dueAt(message) {
    return this.#started + message * this.#interval;
  }

  /** Whether this message, counted from 0, belongs to the burst. */
  isDue(message) {
    return this.#dueAt(message) < this.#began;
  }

  /** The time that it carries. */
  stamp(message) {
    const due = this.#dueAt(message);
    return this.#isSleeping && due >= this.#ended ? this.#began : due;
  }
}
