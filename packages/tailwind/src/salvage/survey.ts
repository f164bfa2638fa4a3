import { decodeDigest } from '../format/payloads.js';
import type { Minimum } from '../log/authority.js';
import { planRecovery } from '../recovery/plan.js';
import type { InventoryEntry } from '../rpc/messages.js';
import type { ReplicaDirectory, ReplicaFile } from './replica-files.js';

/** A segment that can be recovered, and the file that has most of it. */
export interface SurveyedSegment {
  readonly segmentId: bigint;
  readonly file: ReplicaFile;
  /** What is whole of it in that file. */
  readonly lengthBytes: number;
}

/** What the files of a log's backups hold of it. */
export interface LogSurvey {
  readonly logId: bigint;
  /** Nothing that was acknowledged is missing: the next start recovers the log. */
  readonly isComplete: boolean;
  /** By ascending id. */
  readonly segments: readonly SurveyedSegment[];
  /** Segments that the newest digest names, of which nothing whole was found. */
  readonly missing: readonly bigint[];
  /** The end of the log was not found: segments that the digest could not name may be missing too. */
  readonly isEndMissing: boolean;
}

/**
 * Finds out what files have of a log, by the rules of a recovery first. Where these refuse it, the most that can be had:
 * of each segment the file with the longest whole prefix. Segments that the newest digest leaves out are left out:
 * the cleaner had moved what was live in them, and what was removed since would come back. Pure.
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
    return { logId, isComplete: true, segments, missing: [], isEndMissing: false };
  }
  const newest = newestDigest(best);
  const isLeftOut = (segmentId: bigint): boolean =>
    newest !== undefined && segmentId <= newest.segmentId && !newest.ids.includes(segmentId);
  const segments = [...best.values()].filter(({ segmentId }) => !isLeftOut(segmentId));
  const missing = (newest?.ids ?? []).filter((segmentId) => !best.has(segmentId));
  return { logId, isComplete: false, segments, missing, isEndMissing: true };
}

/** The segments that a recovery would take; undefined where it would refuse. */
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

/** A recovery reads no closed replica that is not what its certificate says. */
function isUsable({ record, scan }: ReplicaFile): boolean {
  return record.state === 'open' || scan.status === 'ok';
}

function inventoryOf({ record, scan, digest }: ReplicaFile): InventoryEntry {
  const { segmentId, incarnation, epoch, state, survivor, lengthBytes, checksum } = record;
  const isOpen = state === 'open';
  return {
    segmentId,
    incarnation,
    epoch,
    state,
    survivor,
    lengthBytes,
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
    const { offset: lengthBytes } = file.scan;
    if (lengthBytes === 0 || lengthBytes <= (best.get(segmentId)?.lengthBytes ?? 0)) continue;
    best.set(segmentId, { segmentId, file, lengthBytes });
  }
  return best;
}

function newestDigest(
  best: ReadonlyMap<bigint, SurveyedSegment>,
): { segmentId: bigint; ids: bigint[] } | undefined {
  const heads = [...best.values()].filter(({ file }) => file.digest && !file.record.survivor);
  const head = heads.at(-1);
  return head && { segmentId: head.segmentId, ids: decodeDigest(head.file.digest!) };
}
