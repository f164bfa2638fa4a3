import { type Logger, settledWithin } from '@rdmc/common';
import { LOSS_GRACE_MS, MAX_BLAMES, MAX_FAILED_RUNS } from '../constants.js';
import { CastError, messageOf, toCastError } from '../errors.js';
import type { FetcherLink } from './fetcher-link.js';

/** Decides which fetchers are dropped after runs that failed. */
export class RunBlame {
  /** In succession, without a known cause. */
  #failedRuns = 0;

  constructor(
    private readonly name: string,
    private readonly logger: Logger | undefined,
    private readonly drop: (link: FetcherLink, error: CastError) => void,
  ) {}

  /** A run has ended: without an error, or with one after which a member had got something. */
  succeeded(): void {
    this.#failedRuns = 0;
  }

  /**
   * Waits a moment for the connections of the failed members to end; drops a member that has failed twice without that.
   * @param gained whether a member has got something in the run
   */
  async blame(links: readonly FetcherLink[], error: unknown, gained: boolean): Promise<void> {
    const { memberId, missing = [] } = error as { memberId?: number; missing?: readonly number[] };
    this.logger?.warn?.(
      { name: this.name, reason: messageOf(error) },
      'a group failed; its survivors continue',
    );
    const failed = links.filter(({ id, alive }) => alive && (id === memberId || missing.includes(id)));
    await Promise.all(failed.map((link) => settledWithin(link.down, LOSS_GRACE_MS)));
    for (const link of failed) link.blames += 1;
    for (const link of failed) {
      if (!link.alive || link.blames < MAX_BLAMES) continue;
      const message = `${link.name} failed in the group of the other fetchers: ${messageOf(error)}`;
      this.drop(
        link,
        new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }),
      );
    }
    const isExplained = gained || failed.length > 0 || links.some(({ alive }) => !alive);
    if (!isExplained) this.#failedRuns += 1;
    if (this.#failedRuns < MAX_FAILED_RUNS) return;
    this.#failedRuns = 0;
    const failure = toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
    for (const link of links) this.drop(link, failure);
  }
}
