import type { LogRecord } from '../coordinator/log-record.js';
import { LogRegistry } from '../coordinator/log-registry.js';
import type { StateStore } from '../coordinator/state-store.js';
import type { LogSurvey } from './survey.js';

/** Contents of a coordinator's state, read without a coordinator. */
export interface KnownLogs {
  /** The UUID of the cluster. */
  readonly clusterId: string;
  /** The records of all logs. */
  readonly logs: readonly LogRecord[];
}

/** Undefined if no coordinator has ever used this state. */
export async function knownLogs(store: StateStore): Promise<KnownLogs | undefined> {
  const registry = new LogRegistry(store);
  const clusterId = await registry.knownClusterId();
  return clusterId === undefined ? undefined : { clusterId, logs: await registry.logs() };
}

/**
 * Discards, for good, the data of a log that a survey did not find: the next recovery uses the segments that were
 * found, and refuses where less is found than the survey reports. No coordinator may run meanwhile.
 * @throws TailwindError ERR_RDMC_LOG_STATE: the log was recovered; errors of the store
 */
export async function acceptLoss(store: StateStore, { logId, segments }: LogSurvey): Promise<void> {
  const salvage = segments.map(({ segmentId, byteLength }) => ({ segmentId, byteLength }));
  await new LogRegistry(store).acceptLoss(logId, salvage);
}
