import type { ProtocolContext } from '@rdmc/dataplane';
import type { Algorithm } from '@rdmc/schedule';
import { WATCH_GRACE_MS, WATCH_LINGER_MS, WATCH_PATIENCE_MS } from '../constants.js';

/** The functions of the group that the watch calls. */
export interface WatchPort {
  /** A number that changes with everything that comes from that neighbour. */
  cameFrom(pair: number): number;
  /** Posts a request that the neighbour's device answers by itself; `answered` is called with its completion. */
  probe(pair: number): void;
  /** The device neither completed a probe in time nor reported that it failed. */
  silent(pair: number): void;
}

export interface WatchOptions {
  /** The longest time of a probe without a completion; Infinity for a device that completes every request. */
  readonly limitMs: number;
  /** A neighbour is not probed while others send, unless it has sent nothing for so long. */
  readonly patienceMs: number;
}

/** No probe is outstanding. */
const NOT_ASKED = -1;

/**
 * Checks the neighbours of one member periodically while a message is under way. A member that only waits does not
 * post requests, so its device cannot detect a dead path. So a neighbour from which nothing has arrived since the last
 * look gets a probe, and the device reports a probe that fails.
 *
 *   look          0        1        2        3   ...           n
 *   arrived        yes      no       no       no
 *   probe                   posted   waits    waits            older than `limitMs`: silent
 *
 * A late look, because the process was stopped, counts for the time of one.
 */
export class NeighbourWatch {
  readonly #counts: Float64Array;
  /** Milliseconds since the probe was posted, or NOT_ASKED. */
  readonly #asked: Float64Array;
  /** Milliseconds in which nothing came, nor did a probe complete. */
  readonly #silent: Float64Array;
  /** A group is idle until its first message. */
  #quietMs = WATCH_LINGER_MS;

  constructor(
    private readonly port: WatchPort,
    private readonly pairs: number,
    private readonly options: WatchOptions,
  ) {
    this.#counts = new Float64Array(pairs);
    this.#asked = new Float64Array(pairs).fill(NOT_ASKED);
    this.#silent = new Float64Array(pairs);
  }

  /**
   * One look, so many milliseconds after the last one; `isBusy`: a message is under way here. Returns whether the group needs
   * another look.
   */
  look(isBusy: boolean, sinceMs: number): boolean {
    const hasNew = this.#hasNew();
    const moves = hasNew.includes(true);
    this.#quietMs = isBusy || moves ? 0 : this.#quietMs + sinceMs;
    if (this.#quietMs > WATCH_LINGER_MS) return false;
    for (let pair = 0; pair < this.pairs; pair += 1) {
      this.#silent[pair] = hasNew[pair] ? 0 : this.#silent[pair]! + sinceMs;
      const isQuiet = !moves || this.#silent[pair]! > this.options.patienceMs;
      if (this.#asked[pair] !== NOT_ASKED) this.#age(pair, sinceMs);
      else if (isQuiet) this.#ask(pair);
    }
    return true;
  }

  /** The probe of that neighbour completed. */
  answered(pair: number): void {
    this.#asked[pair] = NOT_ASKED;
    this.#silent[pair] = 0;
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
    this.#asked[pair] = 0;
    this.port.probe(pair);
  }

  #age(pair: number, sinceMs: number): void {
    this.#asked[pair]! += sinceMs;
    if (this.#asked[pair]! > this.options.limitMs) this.port.silent(pair);
  }
}

/** A soft device completes every request. Some drivers of RDMA devices lose a request, so they get a limit. */
export function probeLimitMs({ device }: Pick<ProtocolContext, 'device'>, retryTimeoutMs: number): number {
  return device.kind === 'soft' ? Number.POSITIVE_INFINITY : retryTimeoutMs + WATCH_GRACE_MS;
}

/**
 * In the binomial pipeline each of log n neighbours sends a block by turns, and on slow links the turns take longer than a look;
 * but no neighbour can continue for long without the others. With the other algorithms it can: in a chain, the members before
 * a member do not need the members behind it.
 */
export function blockPatienceMs(algorithm: Algorithm): number {
  return algorithm === 'binomial-pipeline' ? Number.POSITIVE_INFINITY : WATCH_PATIENCE_MS;
}
