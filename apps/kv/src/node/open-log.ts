import type { Log, LogOptions, Logs } from '@rdmc/tailwind';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { DEFAULT_REPLICAS } from '../limits.js';
import { StoreCleaner } from '../log/store-cleaner.js';
import { TailwindLog } from '../log/tailwind-log.js';
import type { ReadLease } from '../server/executor.js';
import type { Store } from '../store/store.js';
import type { ServerOptions } from './cluster-options.js';

/** This server's log for this run. */
export interface OpenLog {
  readonly logId: bigint;
  readonly lease: ReadLease;
  readonly ended: AbortSignal;
  close(): Promise<void>;
}

/** Nobody need recover a log that could not be created. */
async function createLog(logs: Logs, options: LogOptions, coordinator: CoordinatorClient): Promise<Log> {
  try {
    return await logs.create(options);
  } catch (error) {
    await coordinator.abandonLog(options.logId).catch(() => {});
    throw error;
  }
}

/** A new log, to which the store writes from now on. Without replicas it has a name only. */
export async function openLog(
  options: ServerOptions,
  logs: Logs,
  coordinator: CoordinatorClient,
  servers: readonly number[],
  store: Store,
): Promise<OpenLog> {
  const { replicas = DEFAULT_REPLICAS, mode, segmentBytes, maxSegments } = options;
  const { logId, incarnation } = await coordinator.createLog();
  if (replicas === 0) {
    return { logId, lease: { valid: true }, ended: new AbortController().signal, close: async () => {} };
  }
  const cleaner = new StoreCleaner();
  const backups = servers.filter((id) => id !== options.id);
  const logOptions = {
    authority: coordinator,
    logId,
    incarnation,
    backups,
    replicas,
    cleaner,
    ...(mode && { mode }),
    // Over shared memory an append is acknowledged before this turn of the event loop has ended.
    ...(mode !== 'rpc' && { thread: 'application' as const }),
    ...(segmentBytes !== undefined && { segmentBytes }),
    ...(maxSegments !== undefined && { maxSegments }),
  };
  const log = await createLog(logs, logOptions, coordinator);
  cleaner.store = store;
  cleaner.dead = (location) => log.dead(location);
  store.attach(new TailwindLog(log, replicas));
  const lease = await coordinator.lease(logId);
  const close = async (): Promise<void> => {
    lease.close();
    await log.close();
  };
  return { logId, lease, ended: log.signal, close };
}
