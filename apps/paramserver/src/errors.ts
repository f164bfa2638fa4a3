/** A run that failed: `code` is the cause's, or ERR_RDMC_PARAMSERVER_MISMATCH where a sum was wrong. */
export class ParamServerError extends Error {
  override readonly name = 'ParamServerError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
