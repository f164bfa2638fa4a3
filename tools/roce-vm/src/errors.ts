import { errorTable, RdmcError } from '@rdmc/common';

export { AbortError } from '@rdmc/common';

/** Every code a {@link RoceVmError} can carry. They are stable; messages are not. */
export const roceVmErrors = errorTable({
  ERR_RDMC_ROCE_VM_INVALID_OPTION: ['usage', 'an option is wrong or misspelt', 'the message names it'],
  ERR_RDMC_ROCE_VM_UNSUPPORTED: ['resource', 'not Linux, not x86-64, or no apt-get', 'run it elsewhere'],
  ERR_RDMC_ROCE_VM_PACKAGE_MISSING: [
    'resource',
    'packages are missing, and the user is not root',
    'run the line in the message',
  ],
  ERR_RDMC_ROCE_VM_PACKAGE_FAILED: ['resource', 'apt-get or dpkg failed', 'the message has its output'],
  ERR_RDMC_ROCE_VM_KERNEL_UNFIT: ['resource', 'the kernel package has no soft-RoCE', 'run `roce-vm clean`'],
  ERR_RDMC_ROCE_VM_START_FAILED: [
    'resource',
    'the machine did not start',
    'the message has the command and its output',
  ],
  ERR_RDMC_ROCE_VM_NO_RESULT: [
    'peer-lost',
    'the machine ended before the command did',
    'the message has its console',
  ],
  ERR_RDMC_ROCE_VM_TIMEOUT: ['timeout', 'the time limit has passed', 'raise it'],
});
export type RoceVmErrorCode = keyof typeof roceVmErrors;

/** The errors of this package, beside `AbortError`. */
export class RoceVmError extends RdmcError<RoceVmErrorCode> {
  override readonly name = 'RoceVmError';

  constructor(code: RoceVmErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}

export function invalidOption(message: string): RoceVmError {
  return new RoceVmError('ERR_RDMC_ROCE_VM_INVALID_OPTION', message);
}
