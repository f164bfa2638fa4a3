import { Deferred, onAbort, SilenceTimer } from '@rdmc/common';
import type { LogRecord } from '@rdmc/tailwind/coordinator';
import { ROLL_CALL_TICK_MS } from '../limits.js';

export interface HeardServersOptions {
  readonly logs: () => Promise<readonly Pick<LogRecord, 'owner' | 'state'>[]>;
  /** How long the servers that run may take to find this coordinator, after the first one. */
  readonly waitMs: number;
  /** Aborted when this coordinator ends. */
  readonly ended: AbortSignal;
}

/**
 * The servers that have enlisted in this run of the coordinator, or have left. A further run does not know at first what the
 * servers that run told the run before: each with a live log tells it again, or has ended.
 */
export class HeardServers {
  readonly #heard = new Set<number>();
  #next = new Deferred<void>();
  /** The look at the logs since the last event: one for all that wait. */
  #look: Promise<boolean> | undefined;
  #timer: SilenceTimer | undefined;
  #isOver = false;

  constructor(private readonly options: HeardServersOptions) {
    // One listener for all that wait.
    onAbort(options.ended, () => this.#wake());
  }

  /** Also one that is refused then: the process of its live log is this one, or has ended. */
  add(server: number): void {
    if (!this.#isOver) this.#timer ??= this.#wait();
    this.#hear(server);
  }

  /** A server that has left tells nothing any more. Its log is declared dead later. */
  left(server: number): void {
    this.#hear(server);
  }

  /**
   * Resolves when all servers with live logs have enlisted or have left, or the others are late; or when those so far are enough.
   * @throws errors of the store; the reason of the end of this coordinator
   */
  async all(areEnough: () => boolean): Promise<void> {
    while (!this.#isOver && !areEnough()) {
      this.options.ended.throwIfAborted();
      const next = this.#next.promise;
      this.#look ??= this.#isComplete();
      if (await this.#look) this.#end();
      else await next;
    }
  }

  close(): void {
    this.#timer?.stop();
  }

  #hear(server: number): void {
    this.#heard.add(server);
    this.#wake();
  }

  async #isComplete(): Promise<boolean> {
    const logs = await this.options.logs();
    return logs.every(({ owner, state }) => state !== 'live' || this.#heard.has(owner));
  }

  /** A pause of this process does not count as time. */
  #wait(): SilenceTimer {
    const { waitMs } = this.options;
    const timer = new SilenceTimer(Math.min(ROLL_CALL_TICK_MS, Math.max(1, waitMs)), waitMs, () =>
      this.#end(),
    );
    timer.unref();
    return timer;
  }

  /** Logs that are created later are those of servers that have enlisted: it is over for good. */
  #end(): void {
    this.#isOver = true;
    this.close();
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#next;
    this.#next = new Deferred();
    this.#look = undefined;
    waiting.resolve();
  }
}
