import { decodeDigest } from '../format/payloads.js';
import type { Minimum } from '../log/authority.js';
import { planRecovery } from '../recovery/plan.js';
import type { InventoryEntry } from '../rpc/messages.js';
import type { ReplicaDirectory, ReplicaFile } from './replica-files.js';

/** A segment that can be recovered, and the file with the longest intact prefix of it. */
export interface SurveyedSegment {
  /** The segment. */
  readonly segmentId: bigint;
  /** The file to take it from. */
  readonly file: ReplicaFile;
  /** Length of the intact prefix in that file. */
  readonly byteLength: number;
}

/** A head's list of the log's segments. */
interface Digest {
  /** Id of the head that has this digest. */
  readonly segmentId: bigint;
  readonly ids: readonly bigint[];
}

/** What the replica files of a log contain, and what is missing. */
export interface LogSurvey {
  /** The log. */
  readonly logId: bigint;
  /** True if no acknowledged data is missing: the next start recovers the log. */
  readonly isComplete: boolean;
  /** By ascending id. */
  readonly segments: readonly SurveyedSegment[];
  /** Segments that the newest digest names, without an intact prefix in any file. */
  readonly missing: readonly bigint[];
  /** True if the end of the log was not found: segments that the digest could not name may be missing, too. */
  readonly isEndMissing: boolean;
  /**
   * Found segments that are older than the newest digest and not named by it: survivors of cleaning. They are needed
   * if their round was under way. Otherwise a backup may have failed to remove the file, and then objects in it that
   * were removed since come back.
   */
  readonly doubtful: readonly bigint[];
}

/**
 * Determines what can be recovered from files, by the rules of a recovery first. Where these refuse, it determines the
 * most that can be recovered: for each segment the file with the longest intact prefix. Segments that were cleaned are
 * excluded: the cleaner had moved their live entries, and objects that were removed since would come back. Pure.
 */
export function surveyLog(
  logId: bigint,
  directories: readonly ReplicaDirectory[],
  minimum: Minimum,
): LogSurvey {
  const files = directories.map((each) =>
    each.files.filter(({ record }) => record.committed && record.logId === logId),
  );
  const best = bestFiles(files.flat());
  const planned = completePlan(logId, files, minimum);
  if (planned) {
    const segments = planned.flatMap((segmentId) => best.get(segmentId) ?? []);
    return { logId, isComplete: true, segments, missing: [], isEndMissing: false, doubtful: [] };
  }
  const digests = digestsIn(best);
  const newest = digests.at(-1);
  const segments = [...best.values()].filter((segment) => !wasCleaned(segment, best, digests));
  const missing = (newest?.ids ?? []).filter((segmentId) => !best.has(segmentId));
  const doubtful = segments.filter((segment) => isUnnamed(segment, newest));
  const doubtfulIds = doubtful.map(({ segmentId }) => segmentId);
  return { logId, isComplete: false, segments, missing, isEndMissing: true, doubtful: doubtfulIds };
}

/** The segments that a recovery would use; undefined where it would refuse. */
function completePlan(
  logId: bigint,
  files: readonly (readonly ReplicaFile[])[],
  minimum: Minimum,
): bigint[] | undefined {
  const inventories = files.map((each, member) => ({
    member,
    replicas: each.filter(isUsable).map(inventoryOf),
  }));
  try {
    return planRecovery(logId, inventories, minimum).segments.map(({ segmentId }) => segmentId);
  } catch {
    return undefined;
  }
}

/** A recovery does not read a closed replica that does not match its certificate. */
function isUsable({ record, scan }: ReplicaFile): boolean {
  return record.state === 'open' || scan.status === 'ok';
}

function inventoryOf({ record, scan, digest }: ReplicaFile): InventoryEntry {
  const { segmentId, incarnation, epoch, state, survivor, byteLength, checksum } = record;
  const isOpen = state === 'open';
  return {
    segmentId,
    incarnation,
    epoch,
    state,
    survivor,
    byteLength,
    checksum,
    scan: isOpen ? scan : null,
    digest: isOpen && digest ? Buffer.from(digest).toString('base64') : null,
  };
}

function bestFiles(files: readonly ReplicaFile[]): Map<bigint, SurveyedSegment> {
  const best = new Map<bigint, SurveyedSegment>();
  const ordered = [...files].sort((a, b) => (a.record.segmentId < b.record.segmentId ? -1 : 1));
  for (const file of ordered) {
    const { segmentId } = file.record;
    const { offset: byteLength } = file.scan;
    if (byteLength === 0 || byteLength <= (best.get(segmentId)?.byteLength ?? 0)) continue;
    best.set(segmentId, { segmentId, file, byteLength });
  }
  return best;
}

/** Digests of the heads that were found, by ascending id. */
function digestsIn(best: ReadonlyMap<bigint, SurveyedSegment>): Digest[] {
  const heads = [...best.values()].filter(({ file }) => file.digest && !file.record.survivor);
  return heads.map(({ segmentId, file }) => ({ segmentId, ids: decodeDigest(file.digest!) }));
}

/**
 * Whether a segment that the newest digest does not name was part of the log before it, and was cleaned. For a head
 * this is certain. A survivor gets its id before a digest names it: heads that are opened during its round of cleaning
 * have higher ids and name the segments that it was copied from. Those may have been freed since, with the first
 * digest that names the survivor in memory only. So a survivor was cleaned if a digest names it or a later survivor
 * (rounds join the log in order), and is not needed if all segments that it may be copied from are intact.
 *
 * Other survivors are kept. They do not restore old data, because versions decide: an entry that supersedes another
 * one leaves the log only with a later round of cleaning. The survivors of that round have higher ids, and are in
 * files before the round frees anything. (The round may have none. Then a key comes back only if a backup could not
 * remove one file and another file is missing. Files do not distinguish that from a round that was under way, so the
 * survey calls such survivors doubtful.)
 */
function wasCleaned(
  { segmentId, file }: SurveyedSegment,
  best: ReadonlyMap<bigint, SurveyedSegment>,
  digests: readonly Digest[],
): boolean {
  const newest = digests.at(-1);
  if (!newest || !isUnnamed({ segmentId }, newest)) return false;
  if (!file.record.survivor) return true;
  const joined = (id: bigint): boolean => id >= segmentId && best.get(id)?.file.record.survivor === true;
  if (digests.some(({ ids }) => ids.some(joined))) return true;
  return newest.ids.filter((id) => id < segmentId).every((id) => isWholeClosed(best.get(id)));
}

/** Its number is lower than that of the newest head, whose digest does not name it. */
function isUnnamed({ segmentId }: Pick<SurveyedSegment, 'segmentId'>, newest: Digest | undefined): boolean {
  return newest !== undefined && segmentId <= newest.segmentId && !newest.ids.includes(segmentId);
}

function isWholeClosed(segment: SurveyedSegment | undefined): boolean {
  return segment?.file.record.state === 'closed' && segment.file.scan.status === 'ok';
}
