import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

export { codeOf, messageOf } from '@rdmc/common';

/** Every code a {@link TailwindError} can carry. They are stable; messages are not. */
export const tailwindErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_SEGMENT_FULL: ['usage', 'an entry does not fit the rest of the segment', 'open the next segment'],
  ERR_RDMC_ENTRY_DAMAGED: [
    'refused',
    'a payload is malformed, although its checksums match',
    'run the version that wrote it',
  ],
  ERR_RDMC_REPLICA_FOREIGN_FILE: ['refused', 'a file is not a replica', 'move it out of the directory'],
  ERR_RDMC_REPLICA_FOREIGN_VERSION: [
    'refused',
    'the directory has another format',
    'run the version that wrote it, or give another directory',
  ],
  ERR_RDMC_REPLICA_FOREIGN_CLUSTER: [
    'refused',
    'the directory belongs to another cluster',
    'give another directory',
  ],
  ERR_RDMC_REPLICA_DAMAGED: [
    'refused',
    'a file contradicts its checksum, name or length',
    'recover from other replicas',
  ],
  ERR_RDMC_REPLICA_EXISTS: ['refused', 'the backup has this replica', 'take another id'],
  ERR_RDMC_REPLICA_UNKNOWN: ['refused', 'the backup does not have this replica', 'ask another backup'],
  ERR_RDMC_REPLICA_STATE: ['refused', 'the state of the replica does not allow it', 'see the message'],
  ERR_RDMC_REPLICA_MISMATCH: ['refused', 'a request does not fit the replica', 'see the message'],
  ERR_RDMC_BACKUP_FULL: ['resource', 'the backup has no room', 'add backups, or give it more buffers'],
  ERR_RDMC_BACKUP_CLOSED: ['closed', 'the backup is closed', 'serve another one'],
  ERR_RDMC_BACKUP_SERVED: ['usage', 'the node serves a backup', 'close that one first'],
  ERR_RDMC_LOG_FENCED: ['refused', 'the log was declared dead', 'stop serving it: another member does'],
  ERR_RDMC_LOG_CLOSED: ['closed', 'the log is closed', 'create another one'],
  ERR_RDMC_LOG_FULL: ['resource', '`maxSegments` are in use', 'remove entries, or allow more segments'],
  ERR_RDMC_LOG_BACKPRESSURE: ['resource', 'too many bytes wait for the backups', 'await appends first'],
  ERR_RDMC_ENTRY_TOO_LARGE: ['usage', 'an append is over the limit', 'see `maxAppendBytes`'],
  ERR_RDMC_TOO_FEW_BACKUPS: ['resource', 'too few backups have room', 'see each answer in the message'],
  ERR_RDMC_COORDINATOR_SILENT: [
    'peer-lost',
    'the coordinator has not confirmed a replacement',
    'start it again',
  ],
  ERR_RDMC_COORDINATOR_STALE: [
    'refused',
    'another coordinator has followed this one',
    'end the former one; members ask the other by themselves',
  ],
  ERR_RDMC_MEMBER_LOST: ['peer-lost', 'the connection with a member ended', 'use another member'],
  ERR_RDMC_COORDINATOR_CLOSED: ['closed', 'the coordinator is closed', 'open it again'],
  ERR_RDMC_NODE_CLOSED: ['closed', 'the node is closed', 'join again'],
  ERR_RDMC_DATAPLANE_DIED: [
    'internal',
    'the worker of this member died',
    'see the cause; close the node and join again',
  ],
  ERR_RDMC_PROTOCOL: ['refused', 'a member broke the wire protocol', 'run the same version at all members'],
  ERR_RDMC_LOG_EXISTS: ['refused', 'a backup has another log with this id', 'use each id once, ever'],
  ERR_RDMC_LOG_UNKNOWN: ['refused', 'the coordinator does not know the log', 'check the id'],
  ERR_RDMC_LOG_STATE: ['refused', 'the log was recovered', 'use the logs that replaced it'],
  ERR_RDMC_LOG_INCOMPLETE: [
    'resource',
    'replicas of some segments are missing',
    'start the members that have those in `missing`, or accept the loss',
  ],
  ERR_RDMC_NOT_OWNER: ['refused', 'another member or attempt owns the log', 'leave the log to it'],
  ERR_RDMC_RECOVERY_RUNNING: ['refused', 'another member recovers the log', 'wait for it'],
  ERR_RDMC_LEASE_EXPIRED: ['resource', 'there is no lease at this moment', 'try again'],
  ERR_RDMC_STATE_CONFLICT: [
    'refused',
    'another process changed the state of the coordinator',
    'run one coordinator',
  ],
  ERR_RDMC_STATE_LOCKED: ['refused', 'another coordinator acts on this state', 'end that one first'],
  ERR_RDMC_STATE_LOST: ['refused', 'another coordinator may have taken over', 'start again, as the standby'],
  ERR_RDMC_STATE_CLOSED: ['closed', 'the store is closed', 'open it again'],
  ERR_RDMC_STATE_UNREACHABLE: ['peer-lost', 'no etcd answered in time', 'check that etcd runs'],
  ERR_RDMC_STATE_REFUSED: ['refused', 'etcd refused the request', 'check user, password and rights'],
  ERR_RDMC_STATE_FOREIGN_VERSION: [
    'refused',
    'the state has another format, of a level that this release does not speak',
    'run the release that wrote it',
  ],
  ERR_RDMC_STATE_DAMAGED: ['refused', 'the state is damaged', 'restore the file from a copy'],
});
/** The stable codes of this package's errors; `tailwindErrors` has their meaning. */
export type TailwindErrorCode = keyof typeof tailwindErrors;

/** The error of this package. Distinguish cases by `code`. */
export class TailwindError extends RdmcError<TailwindErrorCode> {
  override readonly name = 'TailwindError';
  /** ERR_RDMC_LOG_INCOMPLETE: the segments without a usable replica. */
  readonly missing: readonly bigint[] | undefined;

  constructor(
    code: TailwindErrorCode,
    message: string,
    details: { cause?: unknown; missing?: readonly bigint[] } = {},
  ) {
    super(code, message, details);
    this.missing = details.missing;
  }
}

export function invalidOption(message: string): TailwindError {
  return new TailwindError('ERR_RDMC_INVALID_OPTION', message);
}
