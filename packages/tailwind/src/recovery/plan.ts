import type { SalvagedSegment } from '../coordinator/log-record.js';
import { TailwindError } from '../errors.js';
import { decodeDigest } from '../format/payloads.js';
import type { Certificate } from '../format/scan.js';
import type { Minimum } from '../log/authority.js';
import type { InventoryEntry } from '../rpc/messages.js';

/** A backup's inventory of a log. */
export interface BackupInventory {
  /** The backup. */
  readonly member: number;
  /** Its replicas of the log. */
  readonly replicas: readonly InventoryEntry[];
}

/** A segment to be replayed, and the members with a replica of it, best first. */
export interface PlannedSegment {
  /** The segment. */
  readonly segmentId: bigint;
  /** Ids of the members that have a usable replica, best first. */
  readonly candidates: readonly number[];
  /** A replica with fewer bytes is not a candidate: more than that was acknowledged. */
  readonly floorBytes: number;
  /** The running checksum at the end of these bytes; null after an accepted loss, where only the length is known. */
  readonly checksum: number | null;
}

/** The segments of a log that a recovery replays. */
export interface RecoveryPlan {
  /** The segment that was being written. */
  readonly headId: bigint;
  /** By ascending id. */
  readonly segments: readonly PlannedSegment[];
}

interface Located {
  readonly member: number;
  readonly replica: InventoryEntry;
}

/**
 * Decides, from the inventories of all backups, which segments make up the log, and which replicas to read (Tailwind,
 * section 3.3.1, and RAMCloud's rules for the end of a log). Pure.
 *
 * - Open replicas below the coordinator's minimum are stale and do not count; closed ones always do.
 * - The head is the lowest-numbered open segment with a digest. Its digest names every segment of the log.
 * - Neither the head nor a later segment has a closed replica: the next segment is durably open before one is closed.
 *   So an open replica at or below a closed one is stale. (Survivors of cleaning are closed at any time, and do not
 *   count.)
 * - Every segment before the head needs a closed replica, which tells where the segment ends. An open replica that
 *   ends exactly there is as good, in case the closed one turns out to be damaged.
 * - For the head the longest replica is best: damage in one open replica must not lose the data of another one.
 *
 * @throws TailwindError ERR_RDMC_LOG_INCOMPLETE, with the missing segments
 */
export function planRecovery(
  logId: bigint,
  inventories: readonly BackupInventory[],
  minimum: Minimum,
): RecoveryPlan {
  const located = inventories.flatMap(({ member, replicas }) =>
    replicas.map((replica) => ({ member, replica })),
  );
  const lastClosed = located.reduce((last, { replica: { state, survivor, segmentId } }) => {
    return state === 'closed' && !survivor && segmentId > last ? segmentId : last;
  }, 0n);
  const open = located.filter(
    ({ replica }) => isEligible(replica, minimum) && replica.segmentId > lastClosed && !replica.survivor,
  );
  const head = lowest(open.filter(({ replica }) => replica.digest !== null));
  if (!head) {
    throw new TailwindError(
      'ERR_RDMC_LOG_INCOMPLETE',
      `No backup has an open segment of log ${logId} with a digest: its end cannot be found. ` +
        'Start a backup that had one',
      { missing: [] },
    );
  }
  const headId = head.replica.segmentId;
  const ids = decodeDigest(Buffer.from(head.replica.digest!, 'base64'));
  // Otherwise the head's entries would be omitted silently.
  if (!ids.includes(headId)) throw incomplete(logId, [headId], ', which its own digest does not name');
  const segments = ids.map((segmentId) =>
    segmentId === headId ? planHead(segmentId, open) : planClosed(segmentId, located),
  );
  const missing = segments
    .filter(({ candidates }) => candidates.length === 0)
    .map(({ segmentId }) => segmentId);
  if (missing.length > 0) throw incomplete(logId, missing);
  return { headId, segments };
}

/**
 * The plan of a log whose loss was accepted: these segments, each from the backups that may have as much of it. Pure.
 * @throws TailwindError ERR_RDMC_LOG_INCOMPLETE where less is found than was accepted
 */
export function planSalvage(
  logId: bigint,
  inventories: readonly BackupInventory[],
  accepted: readonly SalvagedSegment[],
): RecoveryPlan {
  const segments = accepted.map(({ segmentId, byteLength }): PlannedSegment => {
    const has = ({ segmentId: id, state, scan, byteLength: length }: InventoryEntry): boolean =>
      id === segmentId && (state === 'closed' ? length : (scan?.offset ?? 0)) >= byteLength;
    const holders = inventories.filter(({ replicas }) => replicas.some(has));
    return {
      segmentId,
      candidates: holders.map(({ member }) => member),
      floorBytes: byteLength,
      checksum: null,
    };
  });
  const missing = segments.filter(({ candidates }) => candidates.length === 0);
  if (missing.length > 0) {
    const ids = missing.map(({ segmentId }) => segmentId);
    throw incomplete(logId, ids, ', which were found when the loss of others was accepted');
  }
  return { headId: accepted.at(-1)?.segmentId ?? 0n, segments };
}

export function incomplete(logId: bigint, missing: readonly bigint[], why = ''): TailwindError {
  return new TailwindError(
    'ERR_RDMC_LOG_INCOMPLETE',
    `No usable replica was found of segments ${missing.join(', ')} of log ${logId}${why}. ` +
      'Start a backup that has them; nothing was discarded',
    { missing },
  );
}

function planHead(segmentId: bigint, open: readonly Located[]): PlannedSegment {
  const prefixes = open
    .filter(({ replica }) => replica.segmentId === segmentId)
    .sort((a, b) => b.replica.scan!.offset - a.replica.scan!.offset);
  const { offset: floorBytes, checksum } = prefixes[0]!.replica.scan!;
  const longest = prefixes.filter(
    ({ replica: { scan } }) => scan!.offset === floorBytes && scan!.checksum === checksum,
  );
  return { segmentId, candidates: longest.map(({ member }) => member), floorBytes, checksum };
}

/** The epoch of an open replica does not matter: the certificate shows that the replica is complete. */
function planClosed(segmentId: bigint, located: readonly Located[]): PlannedSegment {
  const all = located.filter(({ replica }) => replica.segmentId === segmentId);
  const closed = all.filter(({ replica }) => replica.state === 'closed');
  const certificate: Certificate | undefined = closed[0]?.replica;
  if (!certificate) return { segmentId, candidates: [], floorBytes: 0, checksum: null };
  const { byteLength, checksum } = certificate;
  const whole = all.filter(
    ({ replica: { state, scan } }) =>
      state === 'open' && scan?.status === 'ok' && scan.offset === byteLength && scan.checksum === checksum,
  );
  return {
    segmentId,
    candidates: [...closed, ...whole].map(({ member }) => member),
    floorBytes: byteLength,
    checksum,
  };
}

function isEligible({ state, scan, segmentId, epoch }: InventoryEntry, minimum: Minimum): boolean {
  if (state !== 'open' || scan?.status !== 'ok') return false;
  if (segmentId !== minimum.segmentId) return segmentId > minimum.segmentId;
  return epoch >= minimum.epoch;
}

function lowest(replicas: readonly Located[]): Located | undefined {
  return [...replicas].sort((a, b) => (a.replica.segmentId < b.replica.segmentId ? -1 : 1))[0];
}
