import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import { codeOf, messageOf } from '../errors.js';
import type { Logger } from '../options.js';

export interface SweeperOptions {
  readonly coordinator: CoordinatorClient | undefined;
  readonly intervalMs: number;
  readonly logger: Logger | undefined;
  /** The logs of which anything is kept here: replicas, or only that they are fenced, or whose they are. */
  readonly logs: () => Iterable<bigint>;
  /** Nothing need be kept of this one any more: others own what was in it. */
  readonly forget: (logId: bigint) => Promise<void>;
}

/** Asks the coordinator about the logs that a backup keeps anything of, and has those forgotten that were recovered. */
export class Sweeper {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: SweeperOptions) {}

  /** Sweeps from time to time, where there is a coordinator. */
  start(): void {
    if (this.options.coordinator) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Of a log that the coordinator does not know, everything stays. @throws MeshError, MeshRemoteError */
  async sweep(): Promise<void> {
    const { coordinator, logs, forget } = this.options;
    if (!coordinator) return;
    for (const logId of logs()) {
      if (await isRecovered(coordinator, logId)) await forget(logId);
    }
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#sweepAgain(), this.options.intervalMs).unref();
  }

  async #sweepAgain(): Promise<void> {
    try {
      await this.sweep();
    } catch (error) {
      this.options.logger?.debug?.({ reason: messageOf(error) }, 'the coordinator says nothing about logs');
    }
    this.#schedule();
  }
}

async function isRecovered(coordinator: CoordinatorClient, logId: bigint): Promise<boolean> {
  try {
    return (await coordinator.log(logId)).state === 'recovered';
  } catch (error) {
    if (codeOf(error) === 'ERR_RDMC_LOG_UNKNOWN') return false;
    throw error;
  }
}
