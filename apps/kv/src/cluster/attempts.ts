import { readShape, tryShape } from '@rdmc/common/shapes';
import type { CoordinatorChannel, LogRecord } from '@rdmc/tailwind/coordinator';
import { KvError } from '../errors.js';
import { TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { HeirsFull } from './heirs-full.js';
import type { Leftovers } from './leftovers.js';
import {
  floorAnswer,
  heirsFullAnswer,
  type Share,
  type TakeoverMessage,
  Topic,
  takeoverAnswer,
} from './messages.js';
import type { PlacementState } from './placement-state.js';
import type { TenureRange } from './tenure.js';

export interface AttemptsOptions {
  readonly orders: Pick<CoordinatorChannel, 'request'>;
  readonly state: Pick<PlacementState, 'next' | 'plan' | 'requireLog'>;
  readonly logs: () => Promise<readonly LogRecord[]>;
  readonly leftovers: Pick<Leftovers, 'abandon'>;
  readonly ended: AbortSignal;
  /** Whether the server of a log is here. */
  readonly isHere: (logId: string) => boolean;
}

/** An attempt, and whether its heirs may have got something. */
interface Current {
  readonly message: TakeoverMessage;
  mayHaveBrought: boolean;
}

/** The attempts to have a log taken over, one at a time. */
export class Attempts {
  #current: Current | undefined;
  /** Attempts whose heirs may have got something, and whose outcome is not known, by log. */
  readonly #failed = new Map<string, TakeoverMessage[]>();

  constructor(private readonly options: AttemptsOptions) {}

  isUnderWay(logId: string): boolean {
    return this.#current?.message.logId === logId;
  }

  /**
   * One server recovers a log for all that get a part of it. An attempt whose answer was lost may have succeeded.
   * @throws KvError ERR_RDMC_KV_TAKEOVER_FAILED; HeirsFull; what the leader throws
   */
  async run(leader: number, order: Omit<TakeoverMessage, 'takeover'>) {
    const { orders, state, ended, isHere } = this.options;
    const { logId } = order;
    const takeover = await state.next();
    if (isHere(logId)) throw isBack(logId);
    const message = { takeover, ...order };
    const current = { message, mayHaveBrought: false };
    this.#current = current;
    try {
      const options = { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended };
      const answer = await orders.request(leader, Topic.TAKEOVER, message, options);
      const failure = tryShape(heirsFullAnswer, answer);
      if (failure !== undefined) throw new HeirsFull(failure.full, failure.reason);
      this.#failed.delete(logId);
      return readShape(takeoverAnswer, answer);
    } catch (error) {
      if (current.mayHaveBrought) this.#failed.set(logId, [...(this.#failed.get(logId) ?? []), message]);
      throw error;
    } finally {
      this.#current = undefined;
    }
  }

  /**
   * The leader of the attempt under way has the log's recovery for itself: earlier attempts cannot end any more. Only now
   * may what they brought to the heirs be dropped, and their plan be replaced; before, one of them might have been
   * about to make it true.
   */
  async plan(takeover: number): Promise<null> {
    const { state, leftovers, logs } = this.options;
    const current = this.#current;
    if (current?.message.takeover !== takeover) throw notUnderWay(takeover);
    const { logId, shares } = current.message;
    for (const failed of this.#failed.get(logId) ?? []) await leftovers.abandon(failed, current.message);
    // Meanwhile this attempt may have failed, and a later one have its plan.
    if (this.#current !== current) throw notUnderWay(takeover);
    this.#failed.delete(logId);
    // Heirs forget their entries of the slots: a hand-over that has just ended may have given them these.
    await state.requireLog(
      logId,
      shares.flatMap(({ ranges }) => ranges),
      logs,
    );
    if (this.#current !== current) throw notUnderWay(takeover);
    // Not earlier: a hand-over may have given an heir slots of an attempt that did not come so far, and these are kept. From here
    // on the slots are those of a dead log until its recovery ends.
    current.mayHaveBrought = true;
    const planned = await Promise.all(shares.map((share) => this.#tenures(takeover, share)));
    if (this.#current !== current) throw notUnderWay(takeover);
    await state.plan(logId, planned.flat(), logs);
    return null;
  }

  /** The tenures that begin with the takeover. Whatever the heir has of these slots is below their floor. */
  async #tenures(takeover: number, { member, logId, ranges }: Share): Promise<TenureRange[]> {
    const { orders, ended } = this.options;
    const options = { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: ended };
    const answer = await orders.request(member, Topic.FLOOR, { takeover, ranges }, options);
    const { floor } = readShape(floorAnswer, answer);
    return ranges.map(([from, to]) => [from, to, logId, takeover, floor]);
  }
}

function notUnderWay(takeover: number): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} is not under way`);
}

/** Its server registered just before the attempt: then there is nothing to recover. */
function isBack(logId: string): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `the server of log ${logId} is back`);
}
