import type { Device } from './device.js';
import { native } from './native.js';
import { integerOption, onlyKnownOptions } from './options.js';

/** The options of `tearWrites`. */
export interface TearWritesOptions {
  /** Bytes of one-sided WRITEs that are placed after this call, in the order of posting. */
  readonly afterBytes: number;
  /** Ends the process by SIGKILL at that byte (default: false: the queue pair breaks). */
  readonly kill?: boolean;
}

/**
 * For tests: stops a writer in the middle of a one-sided WRITE. The soft device places `afterBytes` more bytes,
 * over all queue pairs; of the WRITE in which that ends the peer gets exactly the first bytes, and
 * later requests are not executed. Earlier requests are. Without `kill` the torn WRITE
 * completes as GENERAL_ERROR on a broken queue pair. A later call starts again. Off unless it is called, or
 * RDMC_SOFT_TEAR=BYTES is set, which means `kill`. Any thread.
 *
 * @throws VerbsError ERR_RDMC_UNSUPPORTED on an RDMA device, ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_OPTION,
 *   ERR_RDMC_DEVICE_CLOSED
 */
export function tearWrites(device: Device, options: TearWritesOptions): void {
  onlyKnownOptions('tearWrites', options, ['afterBytes', 'kill']);
  const { afterBytes, kill = false } = options;
  integerOption('tearWrites', 'afterBytes', afterBytes, 0, Number.MAX_SAFE_INTEGER);
  native().deviceTearWrites(device.handle, afterBytes, Boolean(kill));
}
