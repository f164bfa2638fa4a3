import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import {
  acceptLoss,
  type KnownLogs,
  knownLogs,
  type LogSurvey,
  lockReplicaDirectory,
  type ReplicaDirectory,
  readReplicaDirectory,
  surveyLog,
} from '@rdmc/tailwind/salvage';
import { allSlots, PlacementState, rangesOfSlots } from '../cluster/placement-state.js';
import { Floors, type Tenure } from '../cluster/tenure.js';
import { KvError } from '../errors.js';
import { countKeys } from './count-keys.js';
import type { SalvageLog, SalvageReport } from './report.js';

export interface SalvageOptions {
  /** What to call the store in the report. */
  readonly place: string;
  /** Directories that members were started with, of this host or copies from others: with `server-1`, `server-2`, … */
  readonly roots: readonly string[];
  /** Servers whose files are lost. */
  readonly without: readonly number[];
  /** Whether to give up what is missing. */
  readonly acceptLoss: boolean;
}

/** A server's directory. */
interface ServerPlace {
  readonly server: number;
  readonly directory: string;
}

interface ServerDirectory extends ReplicaDirectory, ServerPlace {}

/** A log that has slots, and what was found of it. */
interface SurveyedLog {
  readonly log: LogRecord;
  readonly survey: LogSurvey;
}

/**
 * Says what of a cluster can be recovered, from which files, and what is missing; and, where told so, has the next start
 * recover that. No member may run: the directories are locked until all is done. Without `acceptLoss` nothing is changed.
 * @param store the coordinator's state, open here and nowhere else
 * @throws KvError ERR_RDMC_KV_NOTHING_TO_SALVAGE, ERR_RDMC_KV_FILES_MISSING; TailwindError ERR_RDMC_STATE_LOCKED: a
 *   server uses its directory; ERR_RDMC_REPLICA_FOREIGN_CLUSTER, ERR_RDMC_REPLICA_FOREIGN_VERSION
 */
export async function salvage(store: StateStore, options: SalvageOptions): Promise<SalvageReport> {
  const known = await knownLogs(store);
  const tenures = known && (await new PlacementState(store).storedTenures(known.logs));
  if (!known || !tenures) {
    throw new KvError(
      'ERR_RDMC_KV_NOTHING_TO_SALVAGE',
      `${options.place} does not have the state of a cluster that has served: there is nothing to recover. Check --directory`,
    );
  }
  const places = findServers(options.roots);
  const locks: AsyncDisposable[] = [];
  try {
    // One after the other: those that were taken are released where a later one is refused.
    for (const { directory } of places) locks.push(await lockReplicaDirectory(directory));
    return await salvageLocked(store, options, { known, tenures, places });
  } finally {
    await Promise.all(locks.map((lock) => lock[Symbol.asyncDispose]()));
  }
}

async function salvageLocked(
  store: StateStore,
  options: SalvageOptions,
  {
    known,
    tenures,
    places,
  }: { known: KnownLogs; tenures: readonly Tenure[]; places: readonly ServerPlace[] },
): Promise<SalvageReport> {
  const directories = await readServers(places, known.clusterId);
  const owners = tenures.map(({ logId }) => logId);
  const absent = absentServers(known, directories, options.without);
  const surveyed = known.logs
    .filter(({ logId, state }) => state !== 'recovered' && owners.includes(String(logId)))
    .map((log) => ({ log, survey: surveyLog(log.logId, directories, log.minimum) }));
  const outcome = outcomeOf(surveyed, options.acceptLoss);
  if (outcome === 'accepted') requireNoneAbsent(absent);
  const logs: SalvageLog[] = [];
  for (const each of surveyed) logs.push(await describe(each, tenures));
  // Last: what cannot be reported is not given up.
  if (outcome === 'accepted') await acceptAll(store, surveyed);
  return {
    clusterId: known.clusterId,
    state: options.place,
    outcome,
    directories: directories.map(({ server, directory, files, damaged }) => {
      return { server, directory, files: files.length, damaged };
    }),
    absent,
    logs,
  };
}

function outcomeOf(surveyed: readonly SurveyedLog[], acceptsLoss: boolean): SalvageReport['outcome'] {
  const needy = surveyed.filter((each) => !each.survey.isComplete || wasAccepted(each.log));
  if (needy.length === 0) return 'complete';
  if (acceptsLoss) return 'accepted';
  return needy.every(({ log }) => wasAccepted(log)) ? 'accepted-before' : 'incomplete';
}

function wasAccepted({ salvage: accepted }: LogRecord): boolean {
  return accepted !== null;
}

function requireNoneAbsent(absent: readonly number[]): void {
  if (absent.length === 0) return;
  throw new KvError(
    'ERR_RDMC_KV_FILES_MISSING',
    `directories of servers ${absent.join(', ')} were not found, and their files may have the missing entries; nothing was ` +
      `changed. Give copies of their directories, or --without ${absent.join(',')} if they are lost`,
  );
}

/** Of a log whose loss was accepted before, what is listed now counts, be it all. */
async function acceptAll(store: StateStore, surveyed: readonly SurveyedLog[]): Promise<void> {
  for (const { log, survey } of surveyed) {
    if (!survey.isComplete || wasAccepted(log)) await acceptLoss(store, survey);
  }
}

function absentServers(
  { logs }: KnownLogs,
  directories: readonly ServerPlace[],
  without: readonly number[],
): number[] {
  const there = new Set(directories.map(({ server }) => server));
  const all = [...new Set(logs.map(({ owner }) => owner))].sort((a, b) => a - b);
  return all.filter((server) => !there.has(server) && !without.includes(server));
}

/** By server. A directory that is named twice is there once. */
function findServers(roots: readonly string[]): ServerPlace[] {
  const found = new Map<string, ServerPlace>();
  for (const root of roots) {
    if (!existsSync(root)) {
      throw new KvError('ERR_RDMC_KV_INVALID_OPTION', `the directory ${root} does not exist`);
    }
    for (const name of readdirSync(root).sort()) {
      const server = /^server-(\d+)$/.exec(name)?.[1];
      if (server === undefined) continue;
      const directory = join(root, name);
      const path = realpathSync(directory);
      if (!found.has(path)) found.set(path, { server: Number(server), directory });
    }
  }
  return [...found.values()].sort((a, b) => a.server - b.server);
}

async function readServers(places: readonly ServerPlace[], clusterId: string): Promise<ServerDirectory[]> {
  const read: ServerDirectory[] = [];
  for (const { server, directory } of places) {
    read.push({ server, ...(await readReplicaDirectory(directory, clusterId)) });
  }
  return read;
}

async function describe(
  { log: record, survey }: SurveyedLog,
  tenures: readonly Tenure[],
): Promise<SalvageLog> {
  const log = String(survey.logId);
  const { keys, entries } = await countKeys(survey, Floors.of(tenures, log));
  const slots = allSlots().filter((slot) => tenures[slot]!.logId === log);
  return {
    log,
    server: record.owner,
    slots: rangesOfSlots(slots),
    isComplete: survey.isComplete,
    keys,
    entries,
    bytes: survey.segments.reduce((sum, { byteLength }) => sum + byteLength, 0),
    segments: survey.segments.map(({ segmentId, file, byteLength }) => {
      return { segment: String(segmentId), file: file.path, bytes: byteLength };
    }),
    missing: survey.missing.map(String),
    doubtful: survey.doubtful.map(String),
    isEndMissing: survey.isEndMissing,
    isLossAccepted: wasAccepted(record),
  };
}
