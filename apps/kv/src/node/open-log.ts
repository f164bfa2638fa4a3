import { setTimeout as delay } from 'node:timers/promises';
import type { Log, LogOptions, Logs } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { codeOf } from '../errors.js';
import { BACKUPS_WAIT_MS, DEFAULT_REPLICAS, DEFAULT_SEGMENT_BYTES, REGISTER_RETRY_MS } from '../limits.js';
import type { CommitLog } from '../log/commit-log.js';
import { NoLog } from '../log/no-log.js';
import { StoreCleaner } from '../log/store-cleaner.js';
import { TailwindLog } from '../log/tailwind-log.js';
import type { ReadLease } from '../server/executor.js';
import type { Keyspace } from '../store/keyspace.js';
import { askSurely } from './ask-surely.js';
import type { ServerOptions } from './cluster-options.js';

/** This server's log for this run. */
export interface OpenLog {
  readonly logId: bigint;
  readonly log: CommitLog;
  readonly lease: ReadLease;
  /** Has other backups keep what this one keeps; it must not be among the choice any more. */
  retire(member: number): void;
  close(): Promise<void>;
}

/** Tells the coordinator that a log that could not be created does not need a recovery. */
async function createLog(logs: Logs, options: LogOptions, coordinator: CoordinatorClient): Promise<Log> {
  try {
    return await logs.create(options);
  } catch (error) {
    await coordinator.abandonLog(options.logId).catch(() => {});
    throw error;
  }
}

/**
 * Creates this run's log. Without replicas the log is a name only, and nothing is written. Backups that have not found a
 * coordinator yet that has just begun, refuse new logs: they are asked again for BACKUPS_WAIT_MS.
 */
export async function openLog(...facts: Parameters<typeof openOnce>): Promise<OpenLog> {
  const deadline = performance.now() + BACKUPS_WAIT_MS;
  for (;;) {
    try {
      return await openOnce(...facts);
    } catch (error) {
      if (codeOf(error) !== 'ERR_RDMC_TOO_FEW_BACKUPS' || performance.now() >= deadline) throw error;
    }
    await delay(REGISTER_RETRY_MS);
  }
}

async function openOnce(
  options: ServerOptions,
  logs: Logs,
  coordinator: CoordinatorClient,
  backups: () => readonly number[],
  keyspace: Keyspace,
): Promise<OpenLog> {
  const { replicas = DEFAULT_REPLICAS, mode, segmentBytes = DEFAULT_SEGMENT_BYTES, maxSegments } = options;
  const { logId, incarnation } = await askSurely(() => coordinator.createLog());
  if (replicas === 0)
    return { logId, log: new NoLog(), lease: { valid: true }, retire() {}, close: async () => {} };
  const logOptions = {
    authority: coordinator,
    logId,
    incarnation,
    backups,
    replicas,
    // The cleaner does not run before the log is created.
    cleaner: new StoreCleaner(keyspace, (location) => log.dead(location)),
    ...(mode && { mode }),
    // Over shared memory an append is acknowledged before this turn of the event loop has ended.
    ...(mode !== 'rpc' && { thread: 'application' as const }),
    segmentBytes,
    ...(maxSegments !== undefined && { maxSegments }),
  };
  const log: Log = await createLog(logs, logOptions, coordinator);
  const lease = await askSurely(() => coordinator.lease(logId));
  const close = async (): Promise<void> => {
    lease.close();
    await log.close();
  };
  return {
    logId,
    log: new TailwindLog(log, replicas),
    lease,
    retire: (member) => void log.retire(member),
    close,
  };
}
