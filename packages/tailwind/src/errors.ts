/** Every code a {@link TailwindError} can carry. They are stable; messages are not. */
export type TailwindErrorCode =
  | 'ERR_RDMC_INVALID_OPTION'
  | 'ERR_RDMC_UNKNOWN_OPTION'
  | 'ERR_RDMC_SEGMENT_FULL'
  | 'ERR_RDMC_ENTRY_DAMAGED'
  | 'ERR_RDMC_REPLICA_FOREIGN_FILE'
  | 'ERR_RDMC_REPLICA_FOREIGN_VERSION'
  | 'ERR_RDMC_REPLICA_FOREIGN_CLUSTER'
  | 'ERR_RDMC_REPLICA_DAMAGED'
  | 'ERR_RDMC_REPLICA_EXISTS'
  | 'ERR_RDMC_REPLICA_UNKNOWN'
  | 'ERR_RDMC_REPLICA_STATE'
  | 'ERR_RDMC_REPLICA_MISMATCH'
  | 'ERR_RDMC_BACKUP_FULL'
  | 'ERR_RDMC_BACKUP_CLOSED'
  | 'ERR_RDMC_LOG_FENCED'
  | 'ERR_RDMC_LOG_CLOSED'
  | 'ERR_RDMC_LOG_FULL'
  | 'ERR_RDMC_LOG_BACKPRESSURE'
  | 'ERR_RDMC_ENTRY_TOO_LARGE'
  | 'ERR_RDMC_TOO_FEW_BACKUPS'
  | 'ERR_RDMC_DATAPLANE_DIED'
  | 'ERR_RDMC_PROTOCOL';

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class TailwindError extends Error {
  override readonly name = 'TailwindError';
  readonly code: TailwindErrorCode;

  constructor(code: TailwindErrorCode, message: string, details: { cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
  }
}

export function invalidOption(message: string): TailwindError {
  return new TailwindError('ERR_RDMC_INVALID_OPTION', message);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
