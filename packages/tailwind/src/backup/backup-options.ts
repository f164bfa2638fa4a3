import { FIRST_LEVEL, MAX_LEVEL, ownLevels } from '@rdmc/common';
import type { ProtectionDomain } from '@rdmc/verbs';
import {
  DEFAULT_BUFFERS,
  DEFAULT_SEGMENT_BYTES,
  MAX_BUFFERS,
  MAX_POWER_HOLD_SECONDS,
  MAX_SEGMENT_BYTES,
  MIN_SEGMENT_BYTES,
} from '../constants.js';
import { invalidOption } from '../errors.js';
import { integerOption, type Logger, onlyKnownOptions, textOption } from '../options.js';

/** The options of `Backup.open`. */
export interface BackupOptions {
  /** Allocates the buffers; the queue pairs for primaries must belong to the same one. */
  readonly protectionDomain: ProtectionDomain;
  /** For replicas' files; created if missing. One backup per directory. */
  readonly directory: string;
  /** A UUID. Files of another cluster are refused. */
  readonly clusterId: string;
  /** Size of a buffer, the largest segment that primaries can have (default 8 MiB; 4 KiB to 1 GiB). */
  readonly segmentBytes?: number;
  /**
   * Buffers that may be open or unflushed at once (default 16, at most 4096). In a power failure their contents must
   * be written to disk, so the limit is: disk bandwidth × hold-up time / segmentBytes. See `powerHoldSeconds`.
   */
  readonly buffers?: number;
  /**
   * How long this machine runs after its power has failed, in seconds (more than 0, at most 3600). Then the backup measures its
   * disk when it opens, and its flushes afterwards, and grants no more buffers than the slower of the two writes in this time.
   * Default: not known, and `buffers` is the limit.
   */
  readonly powerHoldSeconds?: number | undefined;
  /**
   * The level of the cluster (`Levels` of @rdmc/common): files are written in its formats. Default: the highest level of this
   * process, so that earlier releases cannot read the files.
   */
  readonly level?: number;
  /** Reports files that cannot be used and failed flushes; default: none. */
  readonly logger?: Logger;
}

const KNOWN = [
  'protectionDomain',
  'directory',
  'clusterId',
  'segmentBytes',
  'buffers',
  'powerHoldSeconds',
  'level',
  'logger',
];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type CheckedBackupOptions = Required<Omit<BackupOptions, 'logger' | 'powerHoldSeconds'>> & {
  logger: Logger | undefined;
  powerHoldSeconds: number | undefined;
};

/** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkBackupOptions(options: BackupOptions): CheckedBackupOptions {
  const where = 'Backup.open';
  onlyKnownOptions(where, options, KNOWN);
  const { protectionDomain, directory, clusterId, logger } = options;
  if (typeof protectionDomain?.allocate !== 'function')
    throw invalidOption(`${where}: needs a protectionDomain`);
  if (typeof clusterId !== 'string' || !UUID.test(clusterId)) {
    throw invalidOption(`${where}: clusterId must be a UUID in lower case, not ${String(clusterId)}`);
  }
  const { segmentBytes = DEFAULT_SEGMENT_BYTES, buffers = DEFAULT_BUFFERS, powerHoldSeconds } = options;
  const isHeld =
    powerHoldSeconds === undefined || (powerHoldSeconds > 0 && powerHoldSeconds <= MAX_POWER_HOLD_SECONDS);
  if (!isHeld) {
    throw invalidOption(`${where}: powerHoldSeconds must be above 0 and at most ${MAX_POWER_HOLD_SECONDS}`);
  }
  return {
    protectionDomain,
    directory: textOption(where, 'directory', directory),
    clusterId,
    segmentBytes: integerOption(where, 'segmentBytes', segmentBytes, MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES),
    buffers: integerOption(where, 'buffers', buffers, 1, MAX_BUFFERS),
    powerHoldSeconds,
    level: integerOption(where, 'level', options.level ?? ownLevels().most, FIRST_LEVEL, MAX_LEVEL),
    logger,
  };
}
