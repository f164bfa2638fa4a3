import type { ProtocolContext } from '@rdmc/dataplane';
import { WATCH_GRACE_MS, WATCH_INTERVAL_MS, WATCH_LINGER_LOOKS } from '../constants.js';

/** The functions of the group that the watch calls. */
export interface WatchPort {
  /** A number that changes with everything that comes from that neighbour. */
  cameFrom(pair: number): number;
  /** Posts a request that the neighbour's device answers by itself; `answered` is called with its completion. */
  probe(pair: number): void;
  /** The device neither completed a probe in time nor reported that it failed. */
  silent(pair: number): void;
}

/**
 * Checks the neighbours of one member periodically while a message is under way. A member that only waits does not
 * post requests, so its device cannot detect a dead path. So a neighbour from which nothing has arrived since the last
 * look gets a probe, and the device reports a probe that fails.
 *
 *   look          0        1        2        3   ...           n
 *   arrived        yes      no       no       no
 *   probe                   posted   waits    waits            older than `limitLooks`: silent
 *
 * Time is counted in looks: a late look, because the process was stopped, counts for one.
 */
export class NeighbourWatch {
  readonly #counts: Float64Array;
  /** Looks since the probe was posted, counted from 1; 0: no probe is outstanding. */
  readonly #asked: Float64Array;
  /** A group is idle until its first message. */
  #quietLooks = WATCH_LINGER_LOOKS;

  constructor(
    private readonly port: WatchPort,
    private readonly pairs: number,
    /** The most looks of a probe without a completion; Infinity for a device that completes every request. */
    private readonly limitLooks: number,
  ) {
    this.#counts = new Float64Array(pairs);
    this.#asked = new Float64Array(pairs);
  }

  /** One look; `isBusy`: a message is under way here. Returns whether the group needs another look. */
  look(isBusy: boolean): boolean {
    const hasNew = this.#hasNew();
    this.#quietLooks = isBusy || hasNew.includes(true) ? 0 : this.#quietLooks + 1;
    if (this.#quietLooks > WATCH_LINGER_LOOKS) return false;
    for (let pair = 0; pair < this.pairs; pair += 1) {
      if (this.#asked[pair]! > 0) this.#age(pair);
      else if (!hasNew[pair]) this.#ask(pair);
    }
    return true;
  }

  /** The probe of that neighbour completed. */
  answered(pair: number): void {
    this.#asked[pair] = 0;
  }

  #hasNew(): boolean[] {
    return Array.from({ length: this.pairs }, (_, pair) => {
      const count = this.port.cameFrom(pair);
      const isNew = count !== this.#counts[pair];
      this.#counts[pair] = count;
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

/** A soft device completes every request. Some drivers of RDMA devices lose a request, so they get a limit. */
export function limitLooks({ device }: Pick<ProtocolContext, 'device'>, retryTimeoutMs: number): number {
  if (device.kind === 'soft') return Number.POSITIVE_INFINITY;
  return Math.ceil((retryTimeoutMs + WATCH_GRACE_MS) / WATCH_INTERVAL_MS);
}
