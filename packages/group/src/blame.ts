import { Deferred, settledWithin } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { BLAME_TIMEOUT_MS } from './constants.js';
import { BLAME_TOPIC, parseVerdict, type Verdict } from './wire-messages.js';

/**
 * Finds out who is to blame when a queue pair breaks. The member at its other end may be dead; or it may have broken
 * it off because of somebody else's failure, of which the news is still on its way. So it is asked.
 */
export class Blame {
  readonly #verdict = new Deferred<Verdict>();
  #settled = false;
  #suspect: number | undefined;
  /** Until then it is not clear whether anybody else is to blame at all. */
  #clear: Promise<unknown> | undefined;

  constructor(
    private readonly mesh: Mesh,
    private readonly group: number,
  ) {}

  /**
   * Asks the suspect; its silence, or its ignorance, means that it is the culprit itself. News that come within
   * `waitMs` make the question needless.
   */
  async investigate(
    suspect: number,
    nonce: string,
    code: string,
    reason: string,
    waitMs = 0,
  ): Promise<Verdict> {
    this.#suspect = suspect;
    const own: Verdict = { culprit: suspect, code, reason };
    if (waitMs > 0) {
      this.#clear = settledWithin(this.#verdict.promise, waitMs, { ref: false });
      await this.#clear;
      if (this.#settled) return this.#verdict.promise;
    }
    try {
      const answer = await this.mesh.request(
        suspect,
        BLAME_TOPIC,
        { group: this.group, nonce },
        { timeoutMs: BLAME_TIMEOUT_MS },
      );
      return parseVerdict(answer) ?? own;
    } catch {
      return own;
    }
  }

  settle(verdict: Verdict): void {
    this.#settled = true;
    this.#verdict.resolve(verdict);
  }

  /** What to answer a member that asks. While another one is under suspicion, that is awaited. */
  async answer(asker: number): Promise<Verdict | null> {
    await this.#clear;
    const isOpen = this.#suspect === undefined || this.#suspect === asker;
    if (isOpen && !this.#settled) return null;
    return this.#verdict.promise;
  }
}
