import type { OpenDevice } from './contract.js';
import { VerbsError } from './errors.js';

/**
 * Checks that an option is an object of this device. Devices number their objects alike, so the number of a foreign object is that
 * of another one here. A device that another thread attached has the same handle; a handle is used once in a process.
 * @throws VerbsError ERR_RDMC_INVALID_OPTION
 * @internal
 */
export function checkSameDevice(
  where: string,
  name: string,
  given: { readonly device: { readonly handle: number } },
  device: OpenDevice,
): void {
  const handle = (given as Partial<typeof given> | null | undefined)?.device?.handle;
  if (handle === device.handle) return;
  throw new VerbsError(
    'ERR_RDMC_INVALID_OPTION',
    handle === undefined
      ? `${where}: ${name} must be an object of the device`
      : `${where}: ${name} is an object of another device`,
  );
}
