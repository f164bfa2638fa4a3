import { errorTable, RdmcError } from '@rdmc/common';

/** The codes of this program's own; a {@link ParamServerError} carries those of the layers below as well. */
export const paramServerErrors = errorTable({
  ERR_RDMC_PARAMSERVER_MISMATCH: ['internal', 'a worker does not hold the right sum', 'please report it'],
  ERR_RDMC_PARAMSERVER_DIED: ['peer-lost', 'a process of the run ended', 'see what it printed last'],
  ERR_RDMC_PARAMSERVER: ['internal', 'a process failed without a code', 'see the message'],
});

/** A run that failed: `code` is the cause's, or ERR_RDMC_PARAMSERVER_MISMATCH where a sum was wrong. */
export class ParamServerError extends RdmcError {
  override readonly name = 'ParamServerError';
}
