import { installPackages, requireDebian } from './debian.js';
import { type Kernel, kernel } from './kernel.js';
import { Machine } from './machine.js';
import { checked, type RunOptions } from './options.js';

/**
 * Everything a run needs, so that the next one starts at once: packages (installed as root, otherwise named) and a
 * kernel in the cache.
 * @throws RoceVmError ERR_RDMC_ROCE_VM_UNSUPPORTED, ERR_RDMC_ROCE_VM_PACKAGE_MISSING, ERR_RDMC_ROCE_VM_PACKAGE_FAILED
 */
export function prepare(log: (line: string) => void = () => {}): Kernel {
  requireDebian();
  installPackages(log);
  return kernel(log);
}

/**
 * Runs a command in a virtual machine with soft-RoCE devices and resolves with its exit code. It sees this machine's
 * files, and changes them nowhere but in `shared`. Nothing is left behind, however this process ends.
 * @throws RoceVmError; a command that fails is not an error, a machine that ends without a result is
 */
export async function runInVm(options: RunOptions): Promise<number> {
  const settings = checked(options);
  return Machine.run(settings, prepare(settings.log));
}

/** The same with this process's terminal as the machine's, for a shell. */
export async function shellInVm(options: RunOptions): Promise<number> {
  const settings = checked(options);
  return Machine.run(settings, prepare(settings.log), true);
}
