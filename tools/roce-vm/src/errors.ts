/** Every code a {@link RoceVmError} can carry. They are stable; messages are not. */
export type RoceVmErrorCode =
  | 'ERR_RDMC_ROCE_VM_INVALID_OPTION'
  | 'ERR_RDMC_ROCE_VM_UNSUPPORTED'
  | 'ERR_RDMC_ROCE_VM_PACKAGE_MISSING'
  | 'ERR_RDMC_ROCE_VM_PACKAGE_FAILED'
  | 'ERR_RDMC_ROCE_VM_KERNEL_UNFIT'
  | 'ERR_RDMC_ROCE_VM_START_FAILED'
  | 'ERR_RDMC_ROCE_VM_NO_RESULT'
  | 'ERR_RDMC_ROCE_VM_TIMEOUT'
  | 'ERR_RDMC_ROCE_VM_ABORTED';

/** Everything this package throws or rejects with. */
export class RoceVmError extends Error {
  override readonly name = 'RoceVmError';
  readonly code: RoceVmErrorCode;

  constructor(code: RoceVmErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function invalidOption(message: string): RoceVmError {
  return new RoceVmError('ERR_RDMC_ROCE_VM_INVALID_OPTION', message);
}
