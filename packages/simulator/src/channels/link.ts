import {
  type Deliveries,
  FOOTER_BYTES,
  footerIndex,
  RequesterMachine,
  ResponderMachine,
  slotStride,
  wordsFor,
} from '@rdmc/hipower/machine';
import type { ChannelSetting } from './options.js';
import type { Thread } from './thread.js';
import type { Wire } from './wire.js';

/** Payloads are not stored: each slot has its footer only. */
const STORED_BYTES = 8;
/** A batch of WRITEs ends with one signalled request, and with R in push mode. Its limits are those of `@rdmc/hipower`. */
const BATCH_BYTES = 256 << 10;
const BATCH_MESSAGES = 128;

/** One end of a link. */
export interface LinkEnd {
  readonly node: number;
  readonly thread: Thread;
}

/** What the link tells its ends. */
export interface LinkEvents {
  /** The responder has released this slot, as far as the requester knows. */
  freed(slot: number): void;
  delivered(sequence: number): void;
  /** Completions, or an answer: a READ of P may be due. */
  changed(): void;
}

/** One requester's slots at one responder, with the machines of `@rdmc/hipower` at both ends. */
export class ChannelLink implements Deliveries {
  readonly #requester: RequesterMachine;
  readonly #responder: ResponderMachine;
  readonly #words: number;
  readonly #stride = slotStride(STORED_BYTES);
  readonly #pool: Int32Array;
  readonly #announced: Int32Array;
  readonly #knownP: Int32Array;
  readonly #landingR: Int32Array;
  readonly #released: Int32Array;
  #batchBytes = 0;
  #batchMessages = 0;
  #expected = 0;
  #isLooking = false;
  #isStopped = false;
  /** READs of R and of P. */
  reads = 0;

  constructor(
    private readonly setting: ChannelSetting,
    private readonly wire: Wire,
    private readonly from: LinkEnd,
    private readonly to: LinkEnd,
    private readonly events: LinkEvents,
  ) {
    const { slots } = setting;
    this.#words = wordsFor(slots);
    const bitmap = () => new Int32Array(this.#words);
    [this.#announced, this.#knownP, this.#landingR, this.#released] = [
      bitmap(),
      bitmap(),
      bitmap(),
      bitmap(),
    ];
    this.#pool = new Int32Array((slots * this.#stride) / 4);
    const announceAt = this.#pushes ? 'posting' : 'completion';
    const memory = { slots, announced: this.#announced, landing: this.#knownP, announceAt } as const;
    this.#requester = new RequesterMachine(memory, events);
    this.#responder = new ResponderMachine(
      {
        slots,
        stride: this.#stride,
        slotBytes: setting.byteLength,
        pool: this.#pool,
        landing: this.#landingR,
        released: this.#released,
      },
      this,
    );
  }

  get #perRequest(): boolean {
    return this.setting.confirmation === 'per-request';
  }

  get #pushes(): boolean {
    return !this.#perRequest && this.setting.mode === 'push';
  }

  /** A batch of all slots would stop the requester until it is confirmed. */
  get #half(): number {
    return Math.max(1, this.setting.slots >> 1);
  }

  get #boardBytes(): number {
    return this.#words * 4;
  }

  /** The responder looks for messages, in pull mode, until `stop`. */
  start(): void {
    if (!this.#perRequest && !this.#pushes) this.#readR();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** The requester has filled a free slot: its WRITE leaves. `ends`: no further message follows at once. */
  send(slot: number, sequence: number, ends: boolean): void {
    const { byteLength } = this.setting;
    this.#requester.posted(slot, sequence);
    const upTo = this.#requester.postedCount;
    this.#batchBytes += byteLength;
    this.#batchMessages += 1;
    const endsBatch =
      ends || this.#batchBytes >= BATCH_BYTES || this.#batchMessages >= Math.min(BATCH_MESSAGES, this.#half);
    if (endsBatch) this.#batchBytes = this.#batchMessages = 0;
    const arrived = (): void => {
      this.#pool.set([sequence, byteLength, 0, 0], footerIndex(slot, this.#stride));
      if (this.#perRequest) this.#confirm(slot);
    };
    // Completions are in order: that of the last WRITE of a batch is enough for all of them.
    const completed = (): void => {
      if (this.#perRequest) this.#requester.completed(upTo);
      else this.from.thread.work(this.setting.costs.completion, () => this.#completed(upTo));
    };
    const signalled = this.#perRequest || endsBatch ? completed : undefined;
    this.wire.write(this.from.node, this.to.node, byteLength + FOOTER_BYTES, arrived, signalled);
    if (this.#pushes && endsBatch) this.#pushR();
  }

  /** Few slots are free: reads P, unless a READ is under way. */
  refresh(): void {
    if (this.#perRequest || !this.#requester.hasFull || !this.#requester.beginRead()) return;
    const { post, completion } = this.setting.costs;
    this.reads += 1;
    let snapshot = this.#released;
    this.from.thread.work(post, () =>
      this.wire.read(
        this.from.node,
        this.to.node,
        this.#boardBytes,
        () => {
          snapshot = this.#released.slice();
        },
        () =>
          this.from.thread.work(completion, () => {
            this.#knownP.set(snapshot);
            this.#requester.readReturned();
            this.events.changed();
          }),
      ),
    );
  }

  delivered(slot: number): void {
    // The application takes it and releases it at once.
    this.#released[slot >> 5]! ^= 1 << (slot & 31);
    this.events.delivered(this.#expected);
    this.#expected += 1;
  }

  #completed(upTo: number): void {
    this.#requester.completed(upTo);
    this.#requester.collect();
    this.events.changed();
  }

  /** Confirmation of each request: the responder takes its completion, and sends an answer. */
  #confirm(slot: number): void {
    const { completion, post, delivery } = this.setting.costs;
    // The receive is posted again, and the confirmation is sent.
    this.to.thread.work(completion + delivery + 2 * post, () => {
      this.#responder.arrived(slot);
      this.wire.write(this.to.node, this.from.node, 4, () =>
        this.from.thread.work(completion + post, () => {
          this.#requester.recycled(slot);
        }),
      );
    });
  }

  #pushR(): void {
    const snapshot = this.#announced.slice();
    this.wire.write(this.from.node, this.to.node, this.#boardBytes, () => {
      this.#landingR.set(snapshot);
      this.#look();
    });
  }

  /** Pull: the responder reads R, takes what it shows, and reads it again. */
  #readR(): void {
    if (this.#isStopped) return;
    const { post, completion } = this.setting.costs;
    this.reads += 1;
    let snapshot = this.#announced;
    this.to.thread.work(post, () =>
      this.wire.read(
        this.to.node,
        this.from.node,
        this.#boardBytes,
        () => {
          snapshot = this.#announced.slice();
        },
        () =>
          this.to.thread.work(completion, () => {
            this.#landingR.set(snapshot);
            this.#look();
            this.#readR();
          }),
      ),
    );
  }

  /** One look at R; the slots that it shows are taken one after the other. */
  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { look, delivery } = this.setting.costs;
    this.to.thread.work(look, () => {
      this.#isLooking = false;
      const before = this.#expected;
      this.#responder.take();
      const taken = this.#expected - before;
      if (taken > 0) this.to.thread.work(taken * delivery, () => {});
    });
  }
}
