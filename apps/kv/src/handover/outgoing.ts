import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { anySignal, Deferred, within } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { floorAnswer, type HandOverMessage, settleAnswer, Topic } from '../cluster/messages.js';
import type { PeerLink } from '../cluster/peer-link.js';
import type { PeerLinks } from '../cluster/peer-links.js';
import { rangesOfSlots } from '../cluster/placement-state.js';
import type { SlotTable } from '../cluster/slot-table.js';
import { codeOf, KvError } from '../errors.js';
import {
  HANDOVER_FRAME_BYTES,
  HANDOVER_MAX_REST_MS,
  HANDOVER_REST,
  HANDOVER_ROUNDS,
  HANDOVER_STEP_MS,
  HANDOVER_TIMEOUT_MS,
  SETTLE_RETRY_MS,
} from '../limits.js';
import type { Store } from '../store/store.js';
import type { Outcome } from './handover-rules.js';
import type { Incoming } from './incoming.js';
import { OutgoingMachine } from './outgoing-machine.js';
import { SlotCopy } from './slot-copy.js';
import type { StopLimit } from './stop-limit.js';

export interface OutgoingOptions {
  readonly mesh: Pick<Mesh, 'request' | 'id'>;
  readonly coordinator: Pick<CoordinatorClient, 'request'>;
  readonly peers: Pick<PeerLinks, 'link'>;
  readonly store: Store;
  readonly table: SlotTable;
  /** Slots that come to this server. */
  readonly incoming: Pick<Incoming, 'isLater'>;
  /** This server's log. */
  readonly logId: bigint;
  readonly stopLimit: StopLimit;
  /** Aborted when this server ends. */
  readonly ended: AbortSignal;
}

/** One hand-over of slots of this server to another one, from the coordinator's order to its outcome. */
export class Outgoing {
  readonly #machine: OutgoingMachine;
  readonly #slots: readonly number[];
  readonly #outcome = new Deferred<Outcome>();
  #failure: unknown;
  #floor = 0;
  #frames = 0;
  /** When the slots will have been without a server for too long. */
  #stopEnd = Number.POSITIVE_INFINITY;
  #link: PeerLink | undefined;
  #copy: SlotCopy | undefined;

  constructor(
    private readonly options: OutgoingOptions,
    private readonly message: HandOverMessage,
  ) {
    this.#slots = message.ranges.flatMap(([from, to]) => range(from, to));
    this.#machine = new OutgoingMachine({
      stop: () =>
        this.#do(
          () => this.#stop(),
          () => this.#machine.stopped(),
        ),
      finish: () =>
        this.#do(
          () => this.#finish(),
          () => {
            this.options.stopLimit.met();
            this.#machine.finished();
          },
        ),
      settle: (isReady) => void this.#settle(isReady),
      resume: () => this.options.table.resume(this.message.number),
      release: () => {},
    });
  }

  /**
   * Resolves when the slots belong to the target, or to this server as before.
   * @throws why nothing was handed over; then this server serves the slots
   */
  async run(): Promise<Outcome> {
    try {
      await this.#begin();
      await this.#copyMost();
      this.#machine.copied();
    } catch (error) {
      this.#end();
      throw error;
    }
    const outcome = await this.#outcome.promise;
    if (outcome === 'kept')
      throw this.#failure ?? failed(this.message.number, 'was cancelled by the coordinator');
    await this.#forget();
    return outcome;
  }

  /**
   * The answer may be late: a takeover or a later hand-over may have brought slots back meanwhile. One that begins from now on
   * forgets the slots behind this, and brings its entries after that: so the look at each slot comes just before `forget`,
   * without a wait between them.
   */
  #forget(): Promise<void> {
    const { store, incoming } = this.options;
    const gone = this.#slots.filter((slot) => !incoming.isLater(slot, this.message.number));
    return store.forget(rangesOfSlots(gone));
  }

  /**
   * Does a step of the hand-over, behind which the machine goes on. The slots have no server meanwhile: where that takes too long, for a
   * target that is stopped or for appends that are held, the hand-over is given up. What was begun may end later; its result is ignored.
   */
  #do(step: () => Promise<void>, done: () => void): void {
    const doing = step();
    const timeoutMs = Math.max(0, this.#stopEnd - performance.now());
    within(doing, { timeoutMs, late: () => this.#late() }).then(done, (error: unknown) => {
      this.#failure = error;
      this.#machine.failed();
    });
  }

  async #begin(): Promise<void> {
    const { peers, mesh, store, table } = this.options;
    const { number, ranges, target } = this.message;
    if (this.#slots.some((slot) => table.owner(slot) !== mesh.id)) {
      throw failed(number, 'failed: this server does not serve all of the slots');
    }
    this.#link = peers.link(target);
    if (!this.#link) throw failed(number, `failed: there is no connection with server ${target}`);
    const body = {
      number,
      ranges,
      session: this.#link.session,
      version: store.lastVersion,
      bytes: this.#bytes(),
    };
    const answer = await mesh.request(target, Topic.INCOMING, body, this.#waits());
    this.#floor = readShape(floorAnswer, answer).floor;
    this.#copy = new SlotCopy(store, this.#slots);
    store.follow(this.#copy);
  }

  /** Until little is left, or what is left does not become less. */
  async #copyMost(): Promise<void> {
    const copy = this.#copy!;
    for (let rounds = 0; rounds < HANDOVER_ROUNDS; ) {
      const began = performance.now();
      copy.fill(HANDOVER_FRAME_BYTES, HANDOVER_STEP_MS);
      if (!copy.isThrough && copy.bytes < HANDOVER_FRAME_BYTES) {
        await turn();
        this.options.store.ended.throwIfAborted();
        continue;
      }
      const isLittle = copy.isThrough && copy.bytes < HANDOVER_FRAME_BYTES;
      await this.#send(false);
      if (isLittle) return;
      if (copy.isThrough) rounds += 1;
      // Commands come first: the busier both servers are, the longer a frame takes, and the longer is the rest after it.
      const restMs = Math.min(HANDOVER_MAX_REST_MS, HANDOVER_REST * (performance.now() - began));
      await delay(restMs, undefined, { signal: this.options.ended });
    }
  }

  #late(): KvError {
    const { stopLimit } = this.options;
    const { number } = this.message;
    const error = failed(number, `failed: the slots were without a server for ${stopLimit.ms} ms`);
    stopLimit.exceeded();
    return error;
  }

  async #stop(): Promise<void> {
    const { table, store, stopLimit } = this.options;
    this.#stopEnd = performance.now() + stopLimit.ms;
    table.stop(this.message.number, this.message.ranges);
    await store.settled();
  }

  async #finish(): Promise<void> {
    this.#copy!.fill(Number.POSITIVE_INFINITY);
    await this.#send(true);
  }

  /** Sends what there is; resolves when the target has it durably. */
  async #send(isLast: boolean): Promise<void> {
    const { mesh, store } = this.options;
    const { number, target } = this.message;
    const copy = this.#copy!;
    if (copy.bytes > 0) {
      this.#link!.sendHandOver(number, copy.take());
      this.#frames += 1;
    }
    const body = { number, frames: this.#frames, isLast, version: store.lastVersion };
    await mesh.request(target, Topic.BROUGHT, body, this.#waits());
  }

  /** The connection that the entries are on must last. */
  #waits() {
    return { timeoutMs: HANDOVER_TIMEOUT_MS, signal: anySignal(this.options.ended, this.#link!.signal) };
  }

  /** However long the coordinator is away: what it has stored decides, and nothing else. */
  async #settle(isReady: boolean): Promise<void> {
    const { coordinator, ended, table, logId } = this.options;
    const { number, ranges, target } = this.message;
    const body = { number, ranges, target, logId: String(logId), floor: this.#floor, isReady };
    for (let answers = 0; !ended.aborted; ) {
      try {
        const answer = await coordinator.request(Topic.SETTLE, body, { signal: ended });
        const { outcome, epoch } = readShape(settleAnswer, answer);
        if (outcome === 'moved') table.moved(number, epoch);
        const isLate = outcome === 'kept' && table.epoch > epoch;
        this.#machine.answered(outcome);
        // Not later: a source that serves its slots again would collect their changes as long as it asks.
        if (answers === 0) this.#end();
        answers += 1;
        // The table with the outcome was here first. This server has refused requests by it, which wait for the one after it.
        if (isLate && answers === 1) continue;
        this.#outcome.resolve(outcome);
        return;
      } catch (error) {
        // The server ends then.
        if (codeOf(error) === 'ERR_RDMC_LOG_FENCED') break;
      }
      await delay(SETTLE_RETRY_MS, undefined, { signal: ended }).catch(() => {});
    }
    this.#outcome.reject(failed(number, 'failed: this server ends'));
  }

  /** What the slots take of this server's log, as far as it is known without a look at each key. */
  #bytes(): number {
    const { keyspace, usage } = this.options.store;
    const keys = this.#slots.reduce((sum, slot) => sum + keyspace.sizeOf(slot), 0);
    return keyspace.size === 0 ? 0 : Math.ceil((usage.liveBytes * keys) / keyspace.size);
  }

  #end(): void {
    this.options.store.follow(undefined);
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function failed(number: number, how: string): KvError {
  return new KvError('ERR_RDMC_KV_HANDOVER_FAILED', `hand-over ${number} ${how}`);
}
