import { anySignal, within } from '@rdmc/common';
import type { SegmentRef } from '../segment-key.js';
import type { LogEnvironment, Need } from './log-environment.js';
import { raiseMinimum } from './raise-minimum.js';

/** The epoch of a segment's replicas, and what the coordinator knows of it. */
export class SegmentEpoch {
  #value = 1;
  /** The coordinator may be told: the segment's predecessor is closed. */
  #isHead = false;
  #isOwed = false;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly segment: SegmentRef,
  ) {}

  get value(): number {
    return this.#value;
  }

  /** Begins another one, which replicas must know before the coordinator does. */
  begin(): void {
    this.#value += 1;
  }

  /**
   * The predecessor is durably closed. Replacements before this moment could not raise the coordinator's minimum, which would
   * have declared the predecessor's open replicas stale.
   */
  async becomeHead(): Promise<void> {
    this.#isHead = true;
    if (this.#isOwed) await this.#raise(() => true);
    this.#isOwed = false;
  }

  /**
   * The replicas know it. Resolves when the coordinator does, or will before anything is acknowledged.
   * @param isHeld whether nothing is acknowledged before that
   * @param unneeded aborted when the coordinator need not know it, because nothing more will be acknowledged; resolves then
   */
  async tell(isHeld: () => boolean, unneeded?: AbortSignal): Promise<void> {
    if (this.#isHead) await this.#raise(isHeld, unneeded);
    else this.#isOwed = true;
  }

  async #raise(isHeld: () => boolean, unneeded?: AbortSignal): Promise<void> {
    const { environment } = this;
    if (unneeded?.aborted) return;
    const ended = unneeded ? anySignal(environment.ended, unneeded) : environment.ended;
    const refuse = (need: Need, reason: Error | undefined): void => {
      // A request that was under way may still fail.
      if (unneeded?.aborted) return;
      if (reason === undefined || isHeld()) environment.refuse(need, reason);
    };
    try {
      await within(raiseMinimum({ ...environment, ended, refuse }, this.segment, this.#value), {
        signal: ended,
      });
    } catch (error) {
      if (environment.ended.aborted || !unneeded?.aborted) throw error;
      environment.refuse('raise', undefined);
    }
  }
}
