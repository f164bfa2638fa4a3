import { SilenceTimer } from '@rdmc/common';
import type { LogRecord } from '@rdmc/tailwind/coordinator';
import { ROLL_CALL_TICK_MS } from '../limits.js';

export interface RollCallOptions {
  /** All servers of the cluster. */
  readonly servers: readonly number[];
  /** How long the servers may take to start, where the whole cluster does. */
  readonly startMs: number;
  /** How long they may take to find this coordinator, where they run and only the coordinator was started. */
  readonly returnMs: number;
  /** Called when a wait is over. */
  readonly onTimeout: () => void;
}

/**
 * Decides when a run of the coordinator begins to assign slots: when every server with slots is here. Those that do not come
 * in time may be lost. At the first start of a cluster nothing is lost, and all are waited for. A pause of this process does not
 * count as time.
 */
export class RollCall {
  #isBegun = false;
  #isLate = false;
  #timer: SilenceTimer;
  #runs = false;

  constructor(private readonly options: RollCallOptions) {
    this.#timer = this.#wait(options.startMs);
  }

  /**
   * @param owners the log that has each slot; undefined: slots were never given out
   * @param logs all logs
   * @param living the servers that are here, by log
   */
  hasBegun(
    owners: readonly string[] | undefined,
    logs: readonly LogRecord[],
    living: ReadonlyMap<string, number>,
  ): boolean {
    if (this.#isBegun) return true;
    const having = new Set(owners);
    if (!this.#runs && [...living.keys()].some((logId) => having.has(logId))) this.#clusterRuns();
    const here = new Set(living.values());
    const isHere = (id: number): boolean => here.has(id);
    const isComplete = owners
      ? logs.every(({ logId, owner }) => !having.has(String(logId)) || isHere(owner))
      : this.options.servers.every(isHere);
    if (isComplete || (this.#isLate && owners !== undefined && here.size > 0)) this.#begin();
    return this.#isBegun;
  }

  close(): void {
    this.#timer.stop();
  }

  /** A server with slots from an earlier run is here: the others have been running, too, or are lost. */
  #clusterRuns(): void {
    this.#runs = true;
    this.#timer.stop();
    this.#timer = this.#wait(this.options.returnMs);
  }

  #begin(): void {
    this.#isBegun = true;
    this.close();
  }

  #wait(timeoutMs: number): SilenceTimer {
    const tickMs = Math.min(ROLL_CALL_TICK_MS, Math.max(1, timeoutMs));
    const timer = new SilenceTimer(tickMs, timeoutMs, () => {
      this.#isLate = true;
      this.options.onTimeout();
    });
    timer.unref();
    return timer;
  }
}
