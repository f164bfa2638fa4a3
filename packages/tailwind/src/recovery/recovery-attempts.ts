import { TailwindError } from '../errors.js';

/** The end of a segment's prefix that a plan counts, and its checksum there; null: only the length is known. */
export interface PlannedPrefix {
  readonly byteLength: number;
  readonly checksum: number | null;
}

/** The orders of the leader of an attempt to a backup: the part of each heir, and the segments. */
export interface ToldDivision {
  /** Heirs; the position of each is the number of its part. */
  readonly heirs: readonly number[];
  /** The segments of which this backup may be asked, by id. */
  readonly segments: ReadonlyMap<bigint, PlannedPrefix>;
}

interface Attempt<Told extends ToldDivision> {
  readonly attempt: number;
  /** The member that asked for the inventory: it has proved, or will, that the log is complete. */
  readonly leader: number;
  told: Told | undefined;
}

/**
 * Which attempt to recover a log a backup takes part in: the last one, as the coordinator counts attempts. What members of
 * an earlier one ask for is refused, so two attempts cannot mix. Pure.
 */
export class RecoveryAttempts<Told extends ToldDivision = ToldDivision> {
  private readonly attempts = new Map<bigint, Attempt<Told>>();

  /** Logs with an attempt here. */
  get logIds(): bigint[] {
    return [...this.attempts.keys()];
  }

  /**
   * The leader of an attempt asks for this backup's inventory. Everything of earlier attempts ends here.
   * @throws TailwindError ERR_RDMC_NOT_OWNER: a later attempt has begun, or this one has another leader
   */
  begin(logId: bigint, leader: number, attempt: number): void {
    const last = this.attempts.get(logId);
    if (last && (last.attempt > attempt || (last.attempt === attempt && last.leader !== leader))) {
      throw over(logId, attempt, leader);
    }
    this.attempts.set(logId, { attempt, leader, told: undefined });
  }

  /** @throws TailwindError ERR_RDMC_NOT_OWNER */
  requireLeader(logId: bigint, member: number, attempt?: number): void {
    const last = this.attempts.get(logId);
    if (last?.leader === member && last.attempt === (attempt ?? last.attempt)) return;
    throw over(logId, attempt, member);
  }

  /** The leader or an heir. @throws TailwindError ERR_RDMC_NOT_OWNER */
  requireReader(logId: bigint, member: number): void {
    const last = this.attempts.get(logId);
    if (last && (last.leader === member || last.told?.heirs.includes(member))) return;
    throw over(logId, undefined, member);
  }

  /** The leader has a plan. @throws TailwindError ERR_RDMC_NOT_OWNER */
  divide(logId: bigint, member: number, attempt: number, told: Told): void {
    this.requireLeader(logId, member, attempt);
    this.attempts.get(logId)!.told = told;
  }

  /**
   * An heir asks for its part of a segment.
   * @returns the number of the part, and what the leader told
   * @throws TailwindError ERR_RDMC_NOT_OWNER: it is not an heir of the last attempt; ERR_RDMC_REPLICA_UNKNOWN: the plan does
   *   not name this backup for the segment
   */
  admit(
    logId: bigint,
    heir: number,
    attempt: number,
    segmentId: bigint,
  ): { readonly part: number; readonly prefix: PlannedPrefix; readonly told: Told } {
    const last = this.attempts.get(logId);
    const part = last?.attempt === attempt ? (last.told?.heirs.indexOf(heir) ?? -1) : -1;
    if (part < 0) throw over(logId, attempt, heir);
    const told = last!.told!;
    const prefix = told.segments.get(segmentId);
    if (prefix) return { part, prefix, told };
    throw new TailwindError(
      'ERR_RDMC_REPLICA_UNKNOWN',
      `The plan of attempt ${attempt} does not have segment ${segmentId} of log ${logId} served by this backup`,
    );
  }

  forget(logId: bigint): void {
    this.attempts.delete(logId);
  }
}

/**
 * Whether a replica has exactly the prefix that the plan counts. All heirs get their parts of the same bytes then, whichever
 * replicas they come from: an append is with all of its heirs, or with none.
 */
export function hasPrefix(
  { byteLength, checksum }: PlannedPrefix,
  scan: { readonly status: 'ok' | 'corrupt'; readonly offset: number; readonly checksum: number },
): boolean {
  // After an accepted loss the intact prefix of a damaged replica counts, cut where the loss was accepted.
  if (checksum === null) return scan.offset >= byteLength;
  return scan.status === 'ok' && scan.offset === byteLength && scan.checksum === checksum;
}

function over(logId: bigint, attempt: number | undefined, member: number): TailwindError {
  const which = attempt === undefined ? 'the last attempt' : `attempt ${attempt}`;
  return new TailwindError(
    'ERR_RDMC_NOT_OWNER',
    `Member ${member} does not take part in ${which} to recover log ${logId} at this backup`,
  );
}
