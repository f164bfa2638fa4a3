import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import { codeOf, messageOf } from '../errors.js';
import type { Logger } from '../options.js';

export interface SweeperOptions {
  readonly coordinator: CoordinatorClient | undefined;
  readonly intervalMs: number;
  readonly logger: Logger | undefined;
  /** The logs that the backup stores anything about: replicas, a fence, or an owner. */
  readonly logs: () => Iterable<bigint>;
  /** Called for a log whose data belongs to its successors: nothing about it need be kept. */
  readonly forget: (logId: bigint) => Promise<void>;
}

/** Asks the coordinator about the logs that a backup stores anything about, and has recovered ones forgotten. */
export class Sweeper {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: SweeperOptions) {}

  /** Starts periodic sweeps, if there is a coordinator. */
  start(): void {
    if (this.options.coordinator) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Keeps everything of a log that the coordinator does not know. @throws MeshError, MeshRemoteError */
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
      this.options.logger?.debug?.(
        { reason: messageOf(error) },
        'the coordinator did not answer which logs were recovered',
      );
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
