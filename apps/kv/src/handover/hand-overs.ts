import { SerialQueue, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorChannel, LogRecord } from '@rdmc/tailwind/coordinator';
import { handOverAnswer, isServer, type SettleMessage, settleMessage, Topic } from '../cluster/messages.js';
import { type PlacementState, rangesOfSlots } from '../cluster/placement-state.js';
import { KvError } from '../errors.js';
import { HANDOVER_TOTAL_MS, NUMBERS_OF_A_HANDOVER } from '../limits.js';
import type { Outcome } from './handover-rules.js';

/** A server, and its log. */
export interface Holder {
  readonly member: number;
  readonly logId: string;
}

/** Slots that go from one server to another. */
export interface Move {
  readonly source: Holder;
  readonly target: Holder;
  readonly slots: readonly number[];
}

export interface HandOversOptions {
  readonly mesh: Pick<Mesh, 'peers'>;
  readonly orders: Pick<CoordinatorChannel, 'request' | 'onRequest'>;
  readonly state: Pick<PlacementState, 'next' | 'storedTenures' | 'commit' | 'keep'>;
  readonly logs: () => Promise<readonly LogRecord[]>;
  readonly ended: AbortSignal;
  /** The owners of slots, or their epochs, have changed. */
  readonly onChange: () => Promise<void>;
}

interface Current extends Move {
  readonly number: number;
  /** Of each slot, in the order of the slots. */
  readonly epochs: readonly number[];
}

/**
 * The hand-overs that the coordinator has ordered. It stores the outcome before anybody hears it. A source that asks about a
 * hand-over which this run has not ordered, or has given up, keeps its slots once their records have new epochs.
 */
export class HandOvers {
  readonly #current = new Map<number, Current>();
  /** A commit and a cancellation of one hand-over are not mixed. */
  readonly #outcomes = new SerialQueue();
  readonly #subscription: Subscription;
  /** Servers were told the last change. */
  #told: Promise<void> = Promise.resolve();

  constructor(private readonly options: HandOversOptions) {
    this.#subscription = options.orders.onRequest(Topic.SETTLE, (from, body) =>
      this.#outcomes.run(() => this.#settle(from, readShape(settleMessage, body))),
    );
  }

  close(): void {
    this.#subscription.close();
  }

  /** Resolves when the target has the slots. @throws why it does not */
  async run(move: Move): Promise<void> {
    const { orders, state, ended, logs } = this.options;
    const { source, target, slots } = move;
    // The source waits with stopped slots for the numbers of the commit, and of the table.
    const number = await state.next(NUMBERS_OF_A_HANDOVER);
    const tenures = await state.storedTenures(await logs());
    const epochs = slots.map((slot) => {
      const tenure = tenures?.[slot];
      if (tenure?.logId !== source.logId) throw failed(number, `slot ${slot} is not that server's`);
      return tenure.epoch;
    });
    this.#current.set(number, { ...move, number, epochs });
    try {
      const body = { number, ranges: rangesOfSlots(slots), target: target.member };
      const options = { timeoutMs: HANDOVER_TOTAL_MS, signal: ended };
      const answer = await orders.request(source.member, Topic.HAND_OVER, body, options);
      if (readShape(handOverAnswer, answer).outcome !== 'moved')
        throw failed(number, 'the source kept its slots');
    } catch (error) {
      const outcome = await this.#outcomes.run(() => this.#giveUp(number));
      if (outcome !== 'moved') throw error;
    } finally {
      this.#current.delete(number);
      // The next order must not be there before the table that it is about.
      await this.#told;
    }
  }

  /** The source has stopped. Its answer may have been lost: it asks until it has one. */
  async #settle(from: number, message: SettleMessage): Promise<{ outcome: Outcome; epoch: number }> {
    const { state, logs, onChange } = this.options;
    const { number, logId, floor, isReady } = message;
    const move = this.#current.get(number);
    const record = (await logs()).find((each) => String(each.logId) === logId);
    if (record?.owner !== from) throw failed(number, `log ${logId} is not that of server ${from}`);
    if (move && isReady && move.source.logId === logId) {
      const { slots, epochs, target } = move;
      this.#current.delete(number);
      const commit = { slots, epochs, source: logId, target: target.logId, floor };
      const epoch = await state.commit(commit, logs).catch(refusal);
      if (epoch !== undefined) {
        this.#told = onChange();
        return { outcome: 'moved', epoch };
      }
    }
    const kept = await this.#keep(number, logId, slotsIn(message.ranges));
    // The source waits for the answer. Nobody else tells the target where this run does not know the hand-over any more.
    if (kept.outcome === 'kept') void this.#drop(number, move?.target.member ?? message.target);
    return kept;
  }

  /** The order was not carried out, or its answer was lost. Undefined: somebody else has decided. */
  async #giveUp(number: number): Promise<Outcome | undefined> {
    const move = this.#current.get(number);
    if (!move) return undefined;
    this.#current.delete(number);
    const { outcome } = await this.#keep(number, move.source.logId, move.slots);
    // A target that is stopped, or cut off, must not hold up the outcomes of other hand-overs.
    void this.#drop(number, move.target.member);
    return outcome;
  }

  async #keep(
    number: number,
    source: string,
    slots: readonly number[],
  ): Promise<{ outcome: Outcome; epoch: number }> {
    const { state, logs, onChange } = this.options;
    const kept = await state.keep(slots, source, logs);
    // Others hold requests for the slots until they get another table. Also 'moved': the answer of the commit, or of its store, may
    // be lost, and the source waits for a table above this epoch.
    this.#told = onChange();
    if (kept.outcome === 'moved') this.#current.delete(number);
    return kept;
  }

  /** The target forgets what it got; if it does not hear this, its next hand-over of the slots does it. */
  async #drop(number: number, target: number): Promise<void> {
    const { mesh, orders, ended } = this.options;
    if (!isServer(target) || mesh.peers.get(target)?.state !== 'connected') return;
    await orders.request(target, Topic.DROP, { number }, { signal: ended }).catch(() => {});
  }
}

/** The records do not allow the commit; other errors are the store's. */
function refusal(error: unknown): undefined {
  if (error instanceof KvError && error.code === 'ERR_RDMC_KV_HANDOVER_FAILED') return undefined;
  throw error;
}

function slotsIn(ranges: SettleMessage['ranges']): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

function failed(number: number, why: string): KvError {
  return new KvError('ERR_RDMC_KV_HANDOVER_FAILED', `hand-over ${number} failed: ${why}`);
}
