import { WATCH_LINGER_LOOKS } from '../constants.js';

/** What the watch needs of its group. */
export interface WatchPort {
  /** A number that changes with everything that comes from that neighbour. */
  heardFrom(pair: number): number;
  /** Posts a request that the neighbour's device answers by itself; `answered` is called with its completion. */
  probe(pair: number): void;
  /** The device neither completed a probe in time nor reported that it failed. */
  silent(pair: number): void;
}

/**
 * Looks now and then at the neighbours of one member, while a message is under way. A member that only waits posts
 * nothing, so its device has nothing that could fail: a dead path would never be noticed. So a neighbour from which
 * nothing came since the last look gets a probe, and the device reports the probe that fails.
 *
 *   look          0        1        2        3   ...           n
 *   heard          yes      no       no       no
 *   probe                   posted   waits    waits            older than `limitLooks`: silent
 *
 * Time is counted in looks: a look that comes late, because the process was stopped, counts for one.
 */
export class NeighbourWatch {
  readonly #heard: Float64Array;
  /** Looks since the probe was posted, counted from 1; 0: there is none. */
  readonly #asked: Float64Array;
  /** A group is idle until its first message. */
  #quietLooks = WATCH_LINGER_LOOKS;

  constructor(
    private readonly port: WatchPort,
    private readonly pairs: number,
    /** How old a probe may become; Infinity for a device that completes every request. */
    private readonly limitLooks: number,
  ) {
    this.#heard = new Float64Array(pairs);
    this.#asked = new Float64Array(pairs);
  }

  /** One look; `isBusy`: a message is under way here. Returns whether the group needs another look. */
  look(isBusy: boolean): boolean {
    const news = this.#news();
    this.#quietLooks = isBusy || news.includes(true) ? 0 : this.#quietLooks + 1;
    if (this.#quietLooks > WATCH_LINGER_LOOKS) return false;
    for (let pair = 0; pair < this.pairs; pair += 1) {
      if (this.#asked[pair]! > 0) this.#age(pair);
      else if (!news[pair]) this.#ask(pair);
    }
    return true;
  }

  /** The probe of that neighbour completed. */
  answered(pair: number): void {
    this.#asked[pair] = 0;
  }

  #news(): boolean[] {
    return Array.from({ length: this.pairs }, (_, pair) => {
      const heard = this.port.heardFrom(pair);
      const isNew = heard !== this.#heard[pair];
      this.#heard[pair] = heard;
      return isNew;
    });
  }

  #ask(pair: number): void {
    this.#asked[pair] = 1;
    this.port.probe(pair);
  }

  #age(pair: number): void {
    this.#asked[pair]! += 1;
    if (this.#asked[pair]! > this.limitLooks) this.port.silent(pair);
  }
}
