import type { Backup } from '../backup/backup.js';
import { SWEEP_INTERVAL_MS } from '../constants.js';
import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import { codeOf, messageOf } from '../errors.js';
import type { Logger } from '../options.js';

export interface BackupServiceOptions {
  /** Asked which logs live, so that replicas of recovered ones do not stay where `finish` did not reach. */
  readonly coordinator?: CoordinatorClient;
  readonly logger?: Logger;
}

/** Asks the coordinator about the logs of which a backup has replicas, and has those freed that were recovered. */
export class Sweeper {
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly backup: Backup,
    private readonly options: BackupServiceOptions,
    private readonly free: (logId: bigint) => Promise<void>,
  ) {
    if (options.coordinator) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  /** Of a log that the coordinator does not know, everything stays. @throws MeshError, MeshRemoteError */
  async sweep(): Promise<void> {
    const { coordinator } = this.options;
    if (!coordinator) return;
    for (const logId of this.backup.logIds) {
      if (await isRecovered(coordinator, logId)) await this.free(logId);
    }
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#sweepAgain(), SWEEP_INTERVAL_MS).unref();
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
