import type { LogRecord } from '@rdmc/tailwind/coordinator';

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
 * in time count as lost. At the first start of a cluster nothing is lost, and all are waited for.
 */
export class RollCall {
  #isBegun = false;
  #isLate = false;
  #timer: NodeJS.Timeout;
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
    clearTimeout(this.#timer);
  }

  /** A server with slots from an earlier run is here: the others have been running, too, or are lost. */
  #clusterRuns(): void {
    this.#runs = true;
    clearTimeout(this.#timer);
    this.#timer = this.#wait(this.options.returnMs);
  }

  #begin(): void {
    this.#isBegun = true;
    this.close();
  }

  #wait(timeoutMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#isLate = true;
      this.options.onTimeout();
    }, timeoutMs).unref();
  }
}
