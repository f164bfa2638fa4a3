import type { Mesh } from '@rdmc/mesh';
import { TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { Topic } from './messages.js';
import { rangesOfSlots } from './placement-state.js';

export interface LeftoversOptions {
  readonly mesh: Pick<Mesh, 'request'>;
  readonly ended: AbortSignal;
  /** Whether the server of a log is here. */
  readonly isHere: (logId: string) => boolean;
}

/**
 * Unfinished takeovers of the coordinator's earlier runs have brought entries to heirs. An heir that gets these slots later
 * must not have these entries: a key that was deleted meanwhile would be back. So each server drops them once in each run,
 * before the run's first takeover.
 */
export class Leftovers {
  readonly #dropped = new Set<string>();

  constructor(private readonly options: LeftoversOptions) {}

  /** The server of the log was lost: if it is back, it is asked again. */
  forget(logId: string): void {
    this.#dropped.delete(logId);
  }

  /**
   * @param owners the log that has each slot
   * @param living the servers that are here, by log
   * @param below all takeovers of this run have higher numbers
   * @throws MeshError where a server that is here does not answer
   */
  async drop(owners: readonly string[], living: ReadonlyMap<string, number>, below: number): Promise<void> {
    const waiting = [...living].filter(([logId]) => !this.#dropped.has(logId));
    await Promise.all(waiting.map(([logId, member]) => this.#drop(owners, logId, member, below)));
  }

  async #drop(owners: readonly string[], logId: string, member: number, below: number): Promise<void> {
    const { mesh, ended, isHere } = this.options;
    const others = owners.flatMap((owner, slot) => (owner === logId ? [] : [slot]));
    const body = { below, ranges: rangesOfSlots(others) };
    try {
      await mesh.request(member, Topic.RESET, body, { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended });
      if (isHere(logId)) this.#dropped.add(logId);
    } catch (error) {
      if (isHere(logId)) throw error;
    }
  }
}
