/** Every code a {@link NetlabError} can carry. They are stable; messages are not. */
export type NetlabErrorCode =
  | 'ERR_RDMC_NETLAB_INVALID_OPTION'
  | 'ERR_RDMC_NETLAB_NOT_LINUX'
  | 'ERR_RDMC_NETLAB_NOT_ROOT'
  | 'ERR_RDMC_NETLAB_TOOL_MISSING'
  | 'ERR_RDMC_NETLAB_KERNEL_MODULE_MISSING'
  | 'ERR_RDMC_NETLAB_COMMAND_FAILED'
  | 'ERR_RDMC_NETLAB_NAME_TAKEN'
  | 'ERR_RDMC_NETLAB_NO_LAB'
  | 'ERR_RDMC_NETLAB_NO_HOST'
  | 'ERR_RDMC_NETLAB_TRANSFER_FAILED'
  | 'ERR_RDMC_NETLAB_CLOSED';

/** Everything this package throws or rejects with. */
export class NetlabError extends Error {
  override readonly name = 'NetlabError';
  readonly code: NetlabErrorCode;

  constructor(code: NetlabErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function invalidOption(message: string): NetlabError {
  return new NetlabError('ERR_RDMC_NETLAB_INVALID_OPTION', message);
}
