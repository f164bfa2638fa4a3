import { TailwindError } from '../errors.js';

/** The logs whose primaries may not write to this backup any more, because the logs are being recovered. */
export class Fences {
  readonly #logs = new Set<bigint>();
  #isClosed = false;

  get logIds(): bigint[] {
    return [...this.#logs];
  }

  add(logId: bigint): void {
    this.#logs.add(logId);
  }

  remove(logId: bigint): void {
    this.#logs.delete(logId);
  }

  /** From now on nobody is admitted. */
  close(): void {
    this.#isClosed = true;
  }

  /** @throws TailwindError ERR_RDMC_BACKUP_CLOSED; ERR_RDMC_LOG_FENCED where the log's primary was fenced */
  admit(logId: bigint): void {
    if (this.#isClosed) throw new TailwindError('ERR_RDMC_BACKUP_CLOSED', 'This backup is closed');
    if (!this.#logs.has(logId)) return;
    throw new TailwindError(
      'ERR_RDMC_LOG_FENCED',
      `Log ${logId} is being recovered: its primary must not write it any more, and must stop serving it`,
    );
  }
}
