import { categoryOf, type ErrorCategory, errorTable, RdmcError } from '@rdmc/common';

/** The codes of this program; a {@link ParamServerError} may also have a code of the layers below. */
export const paramServerErrors = errorTable({
  ERR_RDMC_PARAMSERVER_MISMATCH: ['internal', 'a worker has a wrong sum', 'please report it'],
  ERR_RDMC_PARAMSERVER_DIED: ['peer-lost', 'a process of the run ended', 'read its last output'],
  ERR_RDMC_PARAMSERVER: ['internal', 'a process failed without a code', 'read the message'],
});

/** A run that failed: `code` is the cause's, or ERR_RDMC_PARAMSERVER_MISMATCH if a sum was wrong. */
export class ParamServerError extends RdmcError {
  override readonly name = 'ParamServerError';
  override readonly category: ErrorCategory;

  /** @param category as the process that failed knows it: the command does not load the tables of the layers below */
  constructor(code: string, message: string, category = categoryOf(code)) {
    super(code, message);
    this.category = category;
  }
}
