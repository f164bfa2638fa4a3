/** What was asked for belongs to a channel or a connection that is gone by now. */
export class ClosedError extends Error {
  override readonly name = 'ClosedError';
  readonly code = 'ERR_RDMC_HIPOWER_CLOSED';
}
