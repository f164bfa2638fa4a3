import { MAX_SWEEP_INTERVAL_MS, SWEEP_INTERVAL_MS } from '../constants.js';
import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import { integerOption, type Logger, onlyKnownOptions } from '../options.js';

/** The options of `logs.serve`. */
export interface BackupServiceOptions {
  /**
   * The coordinator that the service asks which logs live: before a member may write one here, and periodically, so
   * that the service frees everything of recovered logs.
   */
  readonly coordinator?: CoordinatorClient;
  /** Period of these questions, in milliseconds (default 30,000; 10 to 3,600,000). */
  readonly sweepIntervalMs?: number;
  /** Default: the node's. */
  readonly logger?: Logger;
}

const KNOWN = ['coordinator', 'sweepIntervalMs', 'logger'];

/** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkServiceOptions(options: BackupServiceOptions) {
  const where = 'logs.serve';
  onlyKnownOptions(where, options, KNOWN);
  const { coordinator, sweepIntervalMs = SWEEP_INTERVAL_MS, logger } = options;
  integerOption(where, 'sweepIntervalMs', sweepIntervalMs, 10, MAX_SWEEP_INTERVAL_MS);
  return { coordinator, intervalMs: sweepIntervalMs, logger };
}
