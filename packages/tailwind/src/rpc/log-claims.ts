import type { Backup } from '../backup/backup.js';
import type { CoordinatorClient } from '../coordinator/coordinator-client.js';
import type { LogRecord } from '../coordinator/log-record.js';
import { requireLive } from '../coordinator/log-registry.js';
import { codeOf, TailwindError } from '../errors.js';

interface Owner {
  readonly member: number;
  readonly session: string;
}

/**
 * Who may do what with a log at a backup. Its primary is the member and the object that claimed it first; an id that was
 * used before is refused, or the new log would destroy the old one. Once it is fenced, it belongs to the member that
 * asked for its inventory last: the coordinator lets only one recover it at a time.
 */
export class LogClaims {
  readonly #owners = new Map<bigint, Owner>();
  readonly #recoverers = new Map<bigint, number>();
  /** Of how many claims the coordinator's answer is awaited, by log. */
  readonly #asked = new Map<bigint, number>();

  /** @param coordinator where there is one, it says who may claim what */
  constructor(
    private readonly backup: Pick<Backup, 'admit' | 'holdsLog'>,
    private readonly coordinator?: CoordinatorClient,
  ) {}

  /** Logs that anything is known of here. */
  get logIds(): bigint[] {
    return [...this.#owners.keys(), ...this.#recoverers.keys()];
  }

  /** Whether a claim is under way: what the coordinator answered to it may be out of date. */
  isAsked(logId: bigint): boolean {
    return this.#asked.has(logId);
  }

  /**
   * A backup forgets logs that were recovered, and with that whom it had fenced; the coordinator does not, so it is asked
   * before a log's first claim. A log that it does not know has another authority.
   * @throws TailwindError ERR_RDMC_LOG_EXISTS, ERR_RDMC_LOG_FENCED, ERR_RDMC_NOT_OWNER; MeshError, MeshRemoteError: the
   *   coordinator does not answer
   */
  async claim(logId: bigint, member: number, session: string): Promise<void> {
    this.backup.admit(logId);
    this.#asked.set(logId, (this.#asked.get(logId) ?? 0) + 1);
    try {
      if (!this.#owners.has(logId)) await this.#requireLive(logId, member);
      this.backup.admit(logId);
      this.#take(logId, member, session);
    } finally {
      const left = this.#asked.get(logId)! - 1;
      if (left > 0) this.#asked.set(logId, left);
      else this.#asked.delete(logId);
    }
  }

  /** @param session where one is given, it must be the owner's @throws TailwindError ERR_RDMC_NOT_OWNER */
  requireOwner(logId: bigint, member: number, session?: string): void {
    const owner = this.#owners.get(logId);
    if (owner?.member === member && owner.session === (session ?? owner.session)) return;
    throw new TailwindError(
      'ERR_RDMC_NOT_OWNER',
      `Log ${logId} is not one that member ${member} writes here`,
    );
  }

  recoveredBy(logId: bigint, member: number): void {
    this.#recoverers.set(logId, member);
  }

  /** @throws TailwindError ERR_RDMC_NOT_OWNER */
  requireRecoverer(logId: bigint, member: number): void {
    if (this.#recoverers.get(logId) === member) return;
    throw new TailwindError(
      'ERR_RDMC_NOT_OWNER',
      `Member ${member} is not the one that recovers log ${logId}`,
    );
  }

  /** Nothing is left of it here. */
  forget(logId: bigint): void {
    this.#owners.delete(logId);
    this.#recoverers.delete(logId);
  }

  async #requireLive(logId: bigint, member: number): Promise<void> {
    const record = this.coordinator && (await recordOf(this.coordinator, logId));
    if (record) requireLive(record, member);
  }

  #take(logId: bigint, member: number, session: string): void {
    const owner = this.#owners.get(logId);
    if (owner ? owner.member === member && owner.session === session : !this.backup.holdsLog(logId)) {
      this.#owners.set(logId, { member, session });
      return;
    }
    throw new TailwindError(
      'ERR_RDMC_LOG_EXISTS',
      `Log ${logId} exists already: a new log needs an id that was never used, as the coordinator gives them`,
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
