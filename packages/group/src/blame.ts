import { Deferred } from '@rdmc/common';
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

  constructor(
    private readonly mesh: Mesh,
    private readonly group: number,
  ) {}

  /** Asks the suspect; its silence, or its ignorance, means that it is the culprit itself. */
  async investigate(suspect: number, nonce: string, code: string, reason: string): Promise<Verdict> {
    this.#suspect = suspect;
    const own: Verdict = { culprit: suspect, code, reason };
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
  answer(asker: number): Promise<Verdict | null> {
    const isOpen = this.#suspect === undefined || this.#suspect === asker;
    if (isOpen && !this.#settled) return Promise.resolve(null);
    return this.#verdict.promise;
  }
}
