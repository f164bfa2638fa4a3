import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import {
  DEFAULT_MAX_QUEUED_BYTES,
  DEFAULT_MAX_SEGMENTS,
  DEFAULT_REPLICAS,
  DEFAULT_RETRY_TIMEOUT_MS,
  DEFAULT_SEGMENT_BYTES,
  DEFAULT_WINDOW,
  MAX_OUTSTANDING,
  MAX_REPLICAS,
  MAX_SEGMENT_BYTES,
  MIN_CLEANED_SEGMENTS,
  MIN_SEGMENT_BYTES,
} from '../constants.js';
import { invalidOption } from '../errors.js';
import { MAX_U32, u64Option } from '../format/identity.js';
import type { NodeParts } from '../node-parts.js';
import { choiceOption, integerOption, type Logger, onlyKnownOptions } from '../options.js';
import type { ReplicationMode } from '../records.js';
import type { LogAuthority } from './authority.js';
import type { LogCleaner } from './log-cleaner.js';

/** The options of `logs.create`. */
export interface LogOptions {
  /** Confirms replacements of lost backups: `logs.coordinator(memberId)`. */
  readonly authority: LogAuthority;
  /** An id that no other log of the cluster uses or has used. */
  readonly logId: bigint;
  /**
   * Number of the primary's run, from the coordinator's record of the log: it distinguishes its entries from those
   * that an earlier run left.
   */
  readonly incarnation: number;
  /** Members to choose backups from (default: all others); a function is asked for each choice. */
  readonly backups?: readonly number[] | (() => readonly number[]);
  /** Backups of a segment (default 3; 1 to 16). */
  readonly replicas?: number;
  /** Default 8 MiB; 4 KiB to 1 GiB, and at most the size of the backups' buffers. */
  readonly segmentBytes?: number;
  /** Limit of segments in this member's memory (default 128; at least 2, with a cleaner 10). */
  readonly maxSegments?: number;
  /** Makes the log free the space of superseded entries. Without it the log takes appends until it is full. */
  readonly cleaner?: LogCleaner;
  /** 'one-sided' (default), or 'rpc': the scheme for comparison, in which the backups' processors copy. */
  readonly mode?: ReplicationMode;
  /**
   * The thread that posts an append's writes: the data plane's worker (default), or the application's thread, which
   * posts at once and saves the way to the worker and back. For mode 'one-sided' only.
   */
  readonly thread?: 'worker' | 'application';
  /** Unacknowledged groups at once (default 4); appends that arrive meanwhile form one group. */
  readonly window?: number;
  /** Memory that appends may hold while they wait for room, by estimate (default 64 MiB). */
  readonly maxQueuedBytes?: number;
  /** How long a backup's device may be silent before its replicas are replaced (default 2000 ms). */
  readonly retryTimeoutMs?: number;
  /** Random numbers from 0 up to 1, for the choice of backups (default Math.random). */
  readonly random?: () => number;
  /** Default: the node's. */
  readonly logger?: Logger;
}

export type CheckedLogOptions = Required<Omit<LogOptions, 'logger' | 'cleaner' | 'backups'>> & {
  readonly backups: () => readonly number[];
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  readonly logger: Logger | undefined;
  readonly cleaner: LogCleaner | undefined;
};

const KNOWN = [
  'authority',
  'logId',
  'incarnation',
  'backups',
  'replicas',
  'segmentBytes',
  'maxSegments',
  'cleaner',
  'mode',
  'thread',
  'window',
  'maxQueuedBytes',
  'retryTimeoutMs',
  'random',
  'logger',
];

/** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION */
export function checkLogOptions(
  { mesh, plane, logger }: Pick<NodeParts, 'mesh' | 'plane' | 'logger'>,
  options: LogOptions,
): CheckedLogOptions {
  const where = 'logs.create';
  onlyKnownOptions(where, options, KNOWN);
  const mode = choiceOption<ReplicationMode>(where, 'mode', options.mode ?? 'one-sided', [
    'one-sided',
    'rpc',
  ]);
  const { thread = 'worker' } = options;
  if (thread !== 'worker' && (thread !== 'application' || mode !== 'one-sided')) {
    throw invalidOption(
      `${where}: thread must be 'worker' or, in mode 'one-sided', 'application', not '${String(thread)}'`,
    );
  }
  const { backups = [...mesh.peers.keys()] } = options;
  // Where members come and go, one that is not here may come.
  const isOther = (id: number): boolean => mesh.peers.has(id) || (mesh.incarnation > 0 && id !== mesh.id);
  const choice = typeof backups === 'function' ? backups : (): readonly number[] => backups;
  const unknownMember = choice().find((id) => !isOther(id));
  if (unknownMember !== undefined)
    throw invalidOption(`${where}: backups: ${unknownMember} is not another member of the mesh`);
  const number = (name: keyof LogOptions, fallback: number, least: number, most: number): number =>
    integerOption(where, name, options[name] ?? fallback, least, most);
  const most = Number.MAX_SAFE_INTEGER;
  const { cleaner } = options;
  if (cleaner && (typeof cleaner.isLive !== 'function' || typeof cleaner.moved !== 'function')) {
    throw invalidOption(`${where}: cleaner needs the functions isLive and moved`);
  }
  const segmentBytes = number('segmentBytes', DEFAULT_SEGMENT_BYTES, MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES);
  // A digest has 8 bytes for every segment, and must fit into the beginning of a segment.
  const maxNamedSegments = Math.floor(segmentBytes / 16);
  return {
    mesh,
    plane,
    authority: options.authority,
    logId: u64Option('logId', options.logId),
    incarnation: integerOption(where, 'incarnation', options.incarnation, 0, MAX_U32),
    backups: choice,
    replicas: number('replicas', DEFAULT_REPLICAS, 1, MAX_REPLICAS),
    segmentBytes,
    maxSegments: number(
      'maxSegments',
      DEFAULT_MAX_SEGMENTS,
      cleaner ? MIN_CLEANED_SEGMENTS : 2,
      maxNamedSegments,
    ),
    cleaner,
    mode,
    thread,
    window: number('window', DEFAULT_WINDOW, 1, MAX_OUTSTANDING),
    maxQueuedBytes: number('maxQueuedBytes', DEFAULT_MAX_QUEUED_BYTES, 0, most),
    retryTimeoutMs: number('retryTimeoutMs', DEFAULT_RETRY_TIMEOUT_MS, 1, 600_000),
    random: options.random ?? Math.random,
    logger: options.logger ?? logger,
  };
}
