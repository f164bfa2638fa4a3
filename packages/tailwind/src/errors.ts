export { codeOf, messageOf } from '@rdmc/common';

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
  | 'ERR_RDMC_BACKUP_SERVED'
  | 'ERR_RDMC_LOG_FENCED'
  | 'ERR_RDMC_LOG_CLOSED'
  | 'ERR_RDMC_LOG_FULL'
  | 'ERR_RDMC_LOG_BACKPRESSURE'
  | 'ERR_RDMC_ENTRY_TOO_LARGE'
  | 'ERR_RDMC_TOO_FEW_BACKUPS'
  | 'ERR_RDMC_COORDINATOR_SILENT'
  | 'ERR_RDMC_NODE_CLOSED'
  | 'ERR_RDMC_DATAPLANE_DIED'
  | 'ERR_RDMC_PROTOCOL'
  | 'ERR_RDMC_LOG_EXISTS'
  | 'ERR_RDMC_LOG_UNKNOWN'
  | 'ERR_RDMC_LOG_STATE'
  | 'ERR_RDMC_LOG_INCOMPLETE'
  | 'ERR_RDMC_NOT_OWNER'
  | 'ERR_RDMC_RECOVERY_RUNNING'
  | 'ERR_RDMC_LEASE_EXPIRED'
  | 'ERR_RDMC_STATE_CONFLICT'
  | 'ERR_RDMC_STATE_LOCKED'
  | 'ERR_RDMC_STATE_LOST'
  | 'ERR_RDMC_STATE_CLOSED'
  | 'ERR_RDMC_STATE_UNREACHABLE'
  | 'ERR_RDMC_STATE_REFUSED'
  | 'ERR_RDMC_STATE_FOREIGN_VERSION'
  | 'ERR_RDMC_STATE_DAMAGED';

/** What this package throws and rejects with. Tell cases apart by `code`. */
export class TailwindError extends Error {
  override readonly name = 'TailwindError';
  readonly code: TailwindErrorCode;
  /** ERR_RDMC_LOG_INCOMPLETE: the segments that no usable replica was found of. */
  readonly missing: readonly bigint[] | undefined;

  constructor(
    code: TailwindErrorCode,
    message: string,
    details: { cause?: unknown; missing?: readonly bigint[] } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.missing = details.missing;
  }
}

export function invalidOption(message: string): TailwindError {
  return new TailwindError('ERR_RDMC_INVALID_OPTION', message);
}
