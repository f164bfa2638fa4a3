import type { CoordinatorChannel } from '@rdmc/tailwind/coordinator';
import { KvError } from '../errors.js';
import { TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { type Share, type TakeoverMessage, Topic } from './messages.js';
import { rangesOfSlots } from './placement-state.js';

export interface LeftoversOptions {
  readonly orders: Pick<CoordinatorChannel, 'request'>;
  readonly ended: AbortSignal;
  /** Whether the server of a log is here. */
  readonly isHere: (logId: string) => boolean;
}

/** A part of an attempt that cannot end any more. */
type Debt = Pick<TakeoverMessage, 'takeover'> & Pick<Share, 'ranges'>;

/**
 * Unfinished takeovers have brought entries to heirs. An heir that gets these slots later must not have these entries: a key that
 * was deleted meanwhile would be back. So each server drops, once in each run and before the run's first takeover, the entries of
 * earlier runs. It drops those of this run's attempts as soon as another attempt has the recovery for itself, or the heir is back.
 */
export class Leftovers {
  readonly #dropped = new Set<string>();
  /** Of heirs that were not here, by their logs. */
  readonly #owed = new Map<string, Debt[]>();

  constructor(private readonly options: LeftoversOptions) {}

  /**
   * @param owners the log that has each slot
   * @param living the servers that are here, by log
   * @param below all takeovers of this run have higher numbers
   * @throws MeshError where a server that is here does not answer
   */
  async drop(owners: readonly string[], living: ReadonlyMap<string, number>, below: number): Promise<void> {
    await Promise.all(
      [...living].map(async ([logId, member]) => {
        if (!this.#dropped.has(logId)) await this.#drop(owners, logId, member, below);
        await this.#settle(logId, member);
      }),
    );
  }

  /** Whether the server of a log may be an heir: it has nothing to drop. */
  isClean(logId: string): boolean {
    return this.#dropped.has(logId) && !this.#owed.has(logId);
  }

  /**
   * Has the heirs of an attempt forget it. The attempt cannot end any more.
   * @param next the attempt that has the recovery for itself
   * @throws MeshError when an heir that is here does not answer: its leftovers must not be taken for more;
   *   KvError ERR_RDMC_KV_MEMBER_LOST: an heir of both is not here, and would drop what the next one brings
   */
  async abandon({ takeover, shares }: TakeoverMessage, next: TakeoverMessage): Promise<void> {
    const { isHere } = this.options;
    const away = shares.filter(({ logId }) => !isHere(logId));
    const both = away.find(({ logId }) => next.shares.some((share) => share.logId === logId));
    if (both) {
      throw new KvError(
        'ERR_RDMC_KV_MEMBER_LOST',
        `server ${both.member} is not registered at the coordinator now`,
      );
    }
    for (const { logId, ranges } of away) {
      this.#owed.set(logId, [...(this.#owed.get(logId) ?? []), { takeover, ranges }]);
    }
    await Promise.all(
      shares
        .filter((share) => !away.includes(share))
        .map(({ member, ranges }) => this.#abandon(member, { takeover, ranges })),
    );
  }

  /** These logs will not be written any more. */
  forget(logIds: Iterable<string>): void {
    for (const logId of logIds) {
      this.#dropped.delete(logId);
      this.#owed.delete(logId);
    }
  }

  async #settle(logId: string, member: number): Promise<void> {
    const { isHere } = this.options;
    const debts = this.#owed.get(logId);
    if (debts === undefined) return;
    try {
      for (const debt of debts) await this.#abandon(member, debt);
      this.#owed.delete(logId);
    } catch (error) {
      if (isHere(logId)) throw error;
    }
  }

  async #abandon(member: number, debt: Debt): Promise<void> {
    const { orders, ended } = this.options;
    await orders.request(member, Topic.ABANDON, debt, { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended });
  }

  async #drop(owners: readonly string[], logId: string, member: number, below: number): Promise<void> {
    const { orders, ended, isHere } = this.options;
    const others = owners.flatMap((owner, slot) => (owner === logId ? [] : [slot]));
    const body = { below, ranges: rangesOfSlots(others) };
    try {
      await orders.request(member, Topic.RESET, body, { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended });
      if (isHere(logId)) this.#dropped.add(logId);
    } catch (error) {
      if (isHere(logId)) throw error;
    }
  }
}
