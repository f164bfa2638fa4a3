import { Deferred, SilenceTimer, settledWithin } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import { INQUIRY_TICK_MS, INQUIRY_TIMEOUT_MS, STOPPED_MS, SUSPICION_TIMEOUT_MS } from './constants.js';
import {
  INQUIRY_TOPIC,
  parseSuspicion,
  parseVerdict,
  type Suspicion,
  type Verdict,
} from './wire-messages.js';

/**
 * Finds the failed member when a queue pair breaks. The member at its other end may be dead; or it may have broken the
 * queue pair because of the failure of a third member, and its message about that has not arrived yet. So it is asked. A
 * member whose device relays is also asked about a wrong block: it may have got that from a third member.
 */
export class FailureInquiry {
  readonly #verdict = new Deferred<Verdict>();
  #settled = false;
  #suspect: number | undefined;
  /**
   * Resolves when the wait for a device event ends; until then it is not known whether another member failed at all.
   */
  #wait: Promise<unknown> | undefined;

  constructor(
    private readonly mesh: Mesh,
    private readonly group: number,
  ) {}

  /**
   * Asks the suspect. If it does not answer, or does not know of a failure, the suspect itself has failed. A verdict
   * that arrives within `waitMs` makes the request unnecessary.
   */
  async ask(suspect: number, nonce: string, code: string, reason: string, waitMs = 0): Promise<Verdict> {
    this.#suspect = suspect;
    const own: Verdict = { culprit: suspect, code, reason };
    if (waitMs > 0) {
      this.#wait = settledWithin(this.#verdict.promise, waitMs, { ref: false });
      await this.#wait;
      if (this.#settled) return this.#verdict.promise;
    }
    try {
      const answer = await this.#request(suspect, nonce);
      const suspicion = parseSuspicion(answer);
      if (suspicion) return await this.#await(suspicion, own);
      return parseVerdict(answer) ?? own;
    } catch {
      return own;
    }
  }

  settle(verdict: Verdict): void {
    this.#settled = true;
    this.#verdict.resolve(verdict);
  }

  /**
   * The answer to a member that asks. While another member is the suspect, it is told so at once: this member's own request may
   * take as long as that of the member that asks, which would take this one for failed then.
   */
  async answer(asker: number): Promise<Verdict | Suspicion | null> {
    await this.#wait;
    if (this.#settled) return this.#verdict.promise;
    if (this.#suspect === undefined || this.#suspect === asker) return null;
    return { suspects: this.#suspect };
  }

  /** The time is counted in ticks: where this process was stopped, the answer may lie unread in the socket. */
  async #request(suspect: number, nonce: string): Promise<unknown> {
    const late = new AbortController();
    const timer = new SilenceTimer(INQUIRY_TICK_MS, INQUIRY_TIMEOUT_MS, () => late.abort());
    try {
      const question = { group: this.group, nonce };
      return await this.mesh.request(suspect, INQUIRY_TOPIC, question, {
        signal: late.signal,
        timeoutMs: STOPPED_MS,
      });
    } finally {
      timer.stop();
    }
  }

  /** The suspect lives, and has a suspect: its verdict is sent to all members. Without one, that suspect has failed. */
  async #await({ suspects }: Suspicion, own: Verdict): Promise<Verdict> {
    const late = new Deferred<void>();
    const timer = new SilenceTimer(INQUIRY_TICK_MS, SUSPICION_TIMEOUT_MS, () => late.resolve());
    timer.unref();
    await Promise.race([this.#verdict.promise, late.promise]);
    timer.stop();
    if (this.#settled) return this.#verdict.promise;
    const reason = `member ${own.culprit} does not get an answer from it`;
    return { culprit: suspects, code: 'ERR_RDMC_MEMBER_LOST', reason };
  }
}
