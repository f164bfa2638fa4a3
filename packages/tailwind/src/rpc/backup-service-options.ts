import { MAX_SWEEP_INTERVAL_MS, SWEEP_INTERVAL_MS } from '../constants.js';
import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import { invalidOption } from '../errors.js';
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
  /**
   * URL of a module that gives each entry its slot, so that several heirs can pull their parts of a log: its default export
   * is a `Divider`. Scanning threads load it. Without one, only a single member can recover a log from this backup.
   */
  readonly divider?: URL;
  /** Default: the node's. */
  readonly logger?: Logger;
}

const KNOWN = ['coordinator', 'sweepIntervalMs', 'divider', 'logger'];

/** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkServiceOptions(options: BackupServiceOptions) {
  const where = 'logs.serve';
  onlyKnownOptions(where, options, KNOWN);
  const { coordinator, sweepIntervalMs = SWEEP_INTERVAL_MS, divider, logger } = options;
  if (divider !== undefined && !(divider instanceof URL))
    throw invalidOption(`${where}: divider must be a URL`);
  integerOption(where, 'sweepIntervalMs', sweepIntervalMs, 10, MAX_SWEEP_INTERVAL_MS);
  return { coordinator, intervalMs: sweepIntervalMs, divider: divider?.href, logger };
}
