import { errorTable, RdmcError } from '@rdmc/common';

/** The codes of this command; errors of groups, channels and logs come as they are. */
export const trainingErrors = errorTable({
  ERR_RDMC_TRAINING_OPTION: ['usage', 'an option has a wrong value', 'see `rdmc-training --help`'],
  ERR_RDMC_TRAINING_MEMBER_DIED: [
    'peer-lost',
    'a process of the job ended before its work',
    'see what it printed',
  ],
  ERR_RDMC_TRAINING_MISMATCH: [
    'internal',
    'parameters or log are not what one process computes',
    'report it, with the options of the command',
  ],
  ERR_RDMC_TRAINING_NO_WORKERS: ['peer-lost', 'all workers are lost', 'start the job again'],
  ERR_RDMC_TRAINING: ['internal', 'a process failed without a code', 'see the message'],
  ERR_RDMC_TRAINING_INTERRUPTED: [
    'aborted',
    'a signal ended the command',
    'nothing: the caller wanted it so',
  ],
});
export type TrainingErrorCode = keyof typeof trainingErrors;

/** A job that failed by itself. */
export class TrainingError extends RdmcError<TrainingErrorCode> {
  override readonly name = 'TrainingError';
  constructor(
    code: TrainingErrorCode,
    message: string,
    /** With which the command ends. */
    readonly exitCode = 1,
  ) {
    super(code, message);
  }
}

/** What a worker's process says before it ends: the code is that of whatever failed there. */
export class WorkerError extends RdmcError {
  override readonly name = 'WorkerError';
}
