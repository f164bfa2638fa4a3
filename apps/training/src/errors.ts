import { errorTable, RdmcError } from '@rdmc/common';

/** The codes of this command; errors of groups, channels and logs are passed on unchanged. */
export const trainingErrors = errorTable({
  ERR_RDMC_TRAINING_OPTION: ['usage', 'an option has a wrong value', 'see `rdmc-training --help`'],
  ERR_RDMC_TRAINING_MEMBER_DIED: [
    'peer-lost',
    'a process of the job ended before its work',
    'read its output',
  ],
  ERR_RDMC_TRAINING_MISMATCH: [
    'internal',
    'parameters or log differ from those that a single process computes',
    'report it, with the options of the command',
  ],
  ERR_RDMC_TRAINING_NO_WORKERS: ['peer-lost', 'all workers are lost', 'start the job again'],
  ERR_RDMC_TRAINING: ['internal', 'a process failed without a code', 'read the message'],
  ERR_RDMC_TRAINING_INTERRUPTED: ['aborted', 'a signal ended the command', 'nothing: the caller ended it'],
});
/** The stable codes of this package's errors; `trainingErrors` has their meaning. */
export type TrainingErrorCode = keyof typeof trainingErrors;

/** A failure of the job itself. */
export class TrainingError extends RdmcError<TrainingErrorCode> {
  override readonly name = 'TrainingError';
  constructor(
    code: TrainingErrorCode,
    message: string,
    /** Exit code of the command. */
    readonly exitCode = 1,
  ) {
    super(code, message);
  }
}

/** The error of a worker's process before it ends: with the code of the failure there. */
export class WorkerError extends RdmcError {
  override readonly name = 'WorkerError';
}
