import { errorTable, RdmcError } from '@rdmc/common';

/** Every code a {@link NetlabError} can carry. They are stable; messages are not. */
export const netlabErrors = errorTable({
  ERR_RDMC_NETLAB_INVALID_OPTION: ['usage', 'an option is wrong or misspelt', 'the message names it'],
  ERR_RDMC_NETLAB_NOT_LINUX: ['resource', 'labs need Linux', 'run it on Linux'],
  ERR_RDMC_NETLAB_NOT_ROOT: ['refused', 'labs need root', 'run it as root'],
  ERR_RDMC_NETLAB_TOOL_MISSING: [
    'resource',
    'a program is not installed',
    'install the package that the message names',
  ],
  ERR_RDMC_NETLAB_KERNEL_MODULE_MISSING: [
    'resource',
    'the kernel lacks a feature',
    'load the module that the message names',
  ],
  ERR_RDMC_NETLAB_COMMAND_FAILED: ['resource', 'a command failed', 'the message has its output'],
  ERR_RDMC_NETLAB_NAME_TAKEN: ['usage', 'a lab has this name already', 'choose another, or destroy that lab'],
  ERR_RDMC_NETLAB_NO_LAB: ['usage', 'no lab has this name', 'use one that the message lists'],
  ERR_RDMC_NETLAB_NO_HOST: ['usage', 'no host has this name', 'use one that the message lists'],
  ERR_RDMC_NETLAB_TRANSFER_FAILED: [
    'peer-lost',
    'a stream of `goodput` failed',
    'check whether the link is cut',
  ],
  ERR_RDMC_NETLAB_CLOSED: ['closed', 'the lab was destroyed', 'create another one'],
});
export type NetlabErrorCode = keyof typeof netlabErrors;

/** The errors of this package. */
export class NetlabError extends RdmcError<NetlabErrorCode> {
  override readonly name = 'NetlabError';

  constructor(code: NetlabErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}

export function invalidOption(message: string): NetlabError {
  return new NetlabError('ERR_RDMC_NETLAB_INVALID_OPTION', message);
}
