export type TrainingErrorCode =
  | 'ERR_RDMC_TRAINING_OPTION'
  | 'ERR_RDMC_TRAINING_MEMBER_DIED'
  | 'ERR_RDMC_TRAINING_MISMATCH'
  | 'ERR_RDMC_TRAINING_NO_WORKERS'
  | 'ERR_RDMC_TRAINING_INTERRUPTED';

/** A job that failed by itself; errors of groups, channels and logs come as they are. */
export class TrainingError extends Error {
  override readonly name = 'TrainingError';
  constructor(
    readonly code: TrainingErrorCode,
    message: string,
    /** With which the command ends. */
    readonly exitCode = 1,
  ) {
    super(message);
  }
}

/** What a worker's process says before it ends: the code is that of whatever failed there. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
