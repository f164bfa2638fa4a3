import { errorTable, RdmcError } from '@rdmc/common/errors';

/** Every code of this app. They are stable; messages are not. */
export const labErrors = errorTable({
  ERR_RDMC_LAB_OPTION: ['usage', 'an option of the laboratory is wrong', 'see --help'],
  ERR_RDMC_UNKNOWN_FIGURE: ['usage', 'no figure has this id', 'take one of those that --list prints'],
  ERR_RDMC_RECORD_VERSION: [
    'refused',
    'a recorded figure has another version of the format',
    'record it again with this release, or read it with its own',
  ],
  ERR_RDMC_RECORD_DAMAGED: [
    'refused',
    'a recorded figure is cut short, or is not a record',
    'restore the file, or record it again',
  ],
  ERR_RDMC_BENCHMARK_FAILED: [
    'internal',
    'a benchmark ended with an error, or printed what is not understood',
    'run the command in the message alone and read what it prints',
  ],
});
/** The stable codes of this app's errors; `labErrors` has their meaning. */
export type LabErrorCode = keyof typeof labErrors;

/** A failure of the laboratory itself. */
export class LabError extends RdmcError<LabErrorCode> {
  override readonly name = 'LabError';
}
