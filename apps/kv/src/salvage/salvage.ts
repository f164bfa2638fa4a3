import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  acceptLoss,
  knownLogs,
  type LogRecord,
  type LogSurvey,
  type ReplicaDirectory,
  readReplicaDirectory,
  requireUnusedDirectory,
  type StateStore,
  surveyLog,
} from '@rdmc/tailwind';
import { PlacementState } from '../cluster/placement-state.js';
import { KvError } from '../errors.js';
import { countKeys } from './count-keys.js';
import { type SalvageLog, type SalvageReport, slotsOf } from './report.js';

export interface SalvageOptions {
  /** What to call the store in the report. */
  readonly place: string;
  /** Directories that members were started with, of this host or copies from others: with `server-1`, `server-2`, … */
  readonly roots: readonly string[];
  /** Servers whose files are gone for good. */
  readonly without: readonly number[];
  /** Whether to give up what is missing. */
  readonly acceptLoss: boolean;
}

interface ServerDirectory extends ReplicaDirectory {
  readonly server: number;
}

/**
 * Says what of a cluster can be recovered, from which files, and what is missing; and, where told so, has the next start
 * recover that. No member may run. Without `acceptLoss` nothing is changed.
 * @param store the coordinator's state, open here and nowhere else
 * @throws KvError ERR_RDMC_KV_NOTHING_TO_SALVAGE, ERR_RDMC_KV_FILES_MISSING; TailwindError ERR_RDMC_STATE_LOCKED: a
 *   server uses its directory; ERR_RDMC_REPLICA_FOREIGN_CLUSTER, ERR_RDMC_REPLICA_FOREIGN_VERSION
 */
export async function salvage(store: StateStore, options: SalvageOptions): Promise<SalvageReport> {
  const known = await knownLogs(store);
  const owners = known && (await new PlacementState(store).storedOwners(known.logs));
  if (!known || !owners) {
    throw new KvError(
      'ERR_RDMC_KV_NOTHING_TO_SALVAGE',
      `by ${options.place} no cluster has ever served: there is nothing to recover. Check --directory`,
    );
  }
  const directories = await readServers(options.roots, known.clusterId);
  const there = new Set(directories.map(({ server }) => server));
  const all = [...new Set(known.logs.map(({ owner }) => owner))].sort((a, b) => a - b);
  const absent = all.filter((server) => !there.has(server) && !options.without.includes(server));
  const surveyed = known.logs.filter(({ logId, state }) => {
    return state !== 'recovered' && owners.includes(String(logId));
  });
  const surveys = surveyed.map((log) => surveyLog(log.logId, directories, log.minimum));
  const isComplete = surveys.every((survey) => survey.isComplete);
  if (options.acceptLoss && !isComplete) await acceptAll(store, surveys, directories, absent);
  const logs: SalvageLog[] = [];
  for (const [index, log] of surveyed.entries()) logs.push(await describe(log, surveys[index]!, owners));
  return {
    clusterId: known.clusterId,
    state: options.place,
    outcome: isComplete ? 'complete' : options.acceptLoss ? 'accepted' : 'incomplete',
    directories: directories.map(({ server, directory, files, damaged }) => {
      return { server, directory, files: files.length, damaged };
    }),
    absent,
    logs,
  };
}

async function acceptAll(
  store: StateStore,
  surveys: readonly LogSurvey[],
  directories: readonly ServerDirectory[],
  absent: readonly number[],
): Promise<void> {
  if (absent.length > 0) {
    throw new KvError(
      'ERR_RDMC_KV_FILES_MISSING',
      `no directory of servers ${absent.join(', ')} was found, and their files may hold what is missing; nothing was ` +
        `changed. Name copies of their directories, or say --without ${absent.join(',')} if they are gone for good`,
    );
  }
  for (const { directory } of directories) await requireUnusedDirectory(directory);
  for (const survey of surveys) if (!survey.isComplete) await acceptLoss(store, survey);
}

async function readServers(roots: readonly string[], clusterId: string): Promise<ServerDirectory[]> {
  const found: ServerDirectory[] = [];
  for (const root of roots) {
    if (!existsSync(root)) {
      throw new KvError('ERR_RDMC_KV_INVALID_OPTION', `there is no directory ${root}`);
    }
    for (const name of readdirSync(root).sort()) {
      const server = /^server-(\d+)$/.exec(name)?.[1];
      if (server === undefined) continue;
      found.push({ server: Number(server), ...(await readReplicaDirectory(join(root, name), clusterId)) });
    }
  }
  return found.sort((a, b) => a.server - b.server);
}

async function describe(
  { owner }: LogRecord,
  survey: LogSurvey,
  owners: readonly string[],
): Promise<SalvageLog> {
  const log = String(survey.logId);
  const { keys, entries } = await countKeys(survey, (slot) => owners[slot] === log);
  return {
    log,
    server: owner,
    slots: slotsOf(log, owners).map(([from, to]) => [from, to] as const),
    isComplete: survey.isComplete,
    keys,
    entries,
    bytes: survey.segments.reduce((sum, { lengthBytes }) => sum + lengthBytes, 0),
    segments: survey.segments.map(({ segmentId, file, lengthBytes }) => {
      return { segment: String(segmentId), file: file.path, bytes: lengthBytes };
    }),
    missing: survey.missing.map(String),
    isEndMissing: survey.isEndMissing,
  };
}
