import { TailwindError } from '../errors.js';

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

  /** @param isUsed whether replicas of the log are here @throws TailwindError ERR_RDMC_LOG_EXISTS */
  claim(logId: bigint, member: number, session: string, isUsed: () => boolean): void {
    const owner = this.#owners.get(logId);
    if (owner ? owner.member === member && owner.session === session : !isUsed()) {
      this.#owners.set(logId, { member, session });
      return;
    }
    throw new TailwindError(
      'ERR_RDMC_LOG_EXISTS',
      `Log ${logId} exists already: a new log needs an id that was never used, as the coordinator gives them`,
    );
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

  /** Nothing is left of it here. It stays fenced. */
  forget(logId: bigint): void {
    this.#owners.delete(logId);
    this.#recoverers.delete(logId);
  }
}
