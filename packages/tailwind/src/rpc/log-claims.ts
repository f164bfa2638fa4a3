import type { Backup } from '../backup/backup.js';
import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import type { LogRecord } from '../coordinator/log-record.js';
import { requireLive } from '../coordinator/log-rules.js';
import type { OwnerProcess } from '../coordinator/owner-process.js';
import { codeOf, TailwindError } from '../errors.js';

interface Owner {
  readonly member: number;
  readonly session: string;
}

/** A request of a log object to be the one that writes a log here. */
export interface Claim {
  readonly from: OwnerProcess;
  readonly session: string;
  /** It writes the log already, at other backups. */
  readonly resumes: boolean;
}

/**
 * Decides what a member may do with a log at a backup. The primary is the member, and its log object, that claimed the
 * log first. An id that was used before is refused: a new log would destroy the old one. Recoveries are the matter of
 * `RecoveryAttempts`.
 */
export class LogClaims {
  readonly #owners = new Map<bigint, Owner>();
  /** Number of claims that wait for an answer of the coordinator, by log. */
  readonly #asked = new Map<bigint, number>();

  /** @param coordinator if given, it decides which members may claim a log */
  constructor(
    private readonly backup: Pick<Backup, 'admit' | 'holdsLog'>,
    private readonly coordinator?: CoordinatorClient,
  ) {}

  /** Logs with an owner here. */
  get logIds(): bigint[] {
    return [...this.#owners.keys()];
  }

  /** Whether a claim is under way: the coordinator's answer to it may be out of date. */
  isAsked(logId: bigint): boolean {
    return this.#asked.has(logId);
  }

  /**
   * The coordinator is asked before a log's first claim: a backup forgets recovered logs, and their fences with them,
   * but the coordinator does not. A log that the coordinator does not know has another authority.
   *
   * A backup that was lost and is back has replicas of logs that are being written. Their primaries claim them again:
   * they alone know which of these replicas are needed. That takes the coordinator's word that the log is theirs.
   * @throws TailwindError ERR_RDMC_LOG_EXISTS, ERR_RDMC_LOG_FENCED, ERR_RDMC_NOT_OWNER; MeshError, MeshRemoteError:
   *   the coordinator does not answer
   */
  async claim(logId: bigint, claim: Claim): Promise<void> {
    this.backup.admit(logId);
    this.#asked.set(logId, (this.#asked.get(logId) ?? 0) + 1);
    try {
      const isConfirmed = !this.#owners.has(logId) && (await this.#isLive(logId, claim.from));
      this.backup.admit(logId);
      this.#take(logId, claim, isConfirmed && claim.resumes);
    } finally {
      const left = this.#asked.get(logId)! - 1;
      if (left > 0) this.#asked.set(logId, left);
      else this.#asked.delete(logId);
    }
  }

  /** @param session if given, it must be the owner's session @throws TailwindError ERR_RDMC_NOT_OWNER */
  requireOwner(logId: bigint, member: number, session?: string): void {
    const owner = this.#owners.get(logId);
    if (owner?.member === member && owner.session === (session ?? owner.session)) return;
    throw new TailwindError(
      'ERR_RDMC_NOT_OWNER',
      `Member ${member} does not own log ${logId} at this backup`,
    );
  }

  /** Removes the owner of a log. */
  forget(logId: bigint): void {
    this.#owners.delete(logId);
  }

  /** False: the coordinator does not know the log, or there is none to ask. @throws its refusal */
  async #isLive(logId: bigint, from: OwnerProcess): Promise<boolean> {
    const record = this.coordinator && (await recordOf(this.coordinator, logId));
    if (record) requireLive(record, from);
    return record !== undefined;
  }

  #take(logId: bigint, { from: { member }, session }: Claim, resumes: boolean): void {
    const owner = this.#owners.get(logId);
    const isFree = resumes || !this.backup.holdsLog(logId);
    if (owner ? owner.member === member && owner.session === session : isFree) {
      this.#owners.set(logId, { member, session });
      return;
    }
    throw new TailwindError(
      'ERR_RDMC_LOG_EXISTS',
      `Log ${logId} exists already; a new log needs an id that was never used: get one with createLog`,
    );
  }
}

async function recordOf(coordinator: CoordinatorClient, logId: bigint): Promise<LogRecord | undefined> {
  try {
    return await coordinator.log(logId);
  } catch (error) {
    if (codeOf(error) === 'ERR_RDMC_LOG_UNKNOWN') return undefined;
    throw error;
  }
}
