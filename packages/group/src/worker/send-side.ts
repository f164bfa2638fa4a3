import { receiveSlots } from '../group-memory.js';
import type { Announcements } from './announcements.js';
import { BlockRange, NO_KEY } from './block-range.js';
import { Counter } from './counters.js';
import type { FirstBuffers } from './first-buffers.js';
import { HEADER_AHEAD, writeHeader } from './header.js';
import { HeadersAhead } from './headers-ahead.js';
import type { MachineConfig } from './machine-config.js';
import type { OpenMessage } from './open-message.js';
import type { Plans } from './plans.js';
import type { GroupPort } from './port.js';
import type { ReceiveSide } from './receive-side.js';
import { RelaySide } from './relay-side.js';

/** A member uses its neighbours by turns; so the next send to one is among so many for each neighbour. */
const LOOK_AHEAD = 2;

/** What a send slot sends. */
const Content = { BLOCK: 0, BLOCK_FROM_BUFFER: 1, HEADER: 2 } as const;

/**
 * Sends blocks strictly in the order of the schedule, message after message, at most `sendWindow` at once. The next
 * block is sent when it is here and its target has announced a receive for it. Where the device relays, a block that is not
 * here yet is posted as a relay. The header of a message of long blocks goes ahead of these (`headers-ahead.ts`).
 */
export class SendSide {
  readonly #freeSlots: Uint8Array;
  #freeCount: number;
  /** The most sends that have not completed. */
  #most: number;
  readonly #messages: (OpenMessage | undefined)[];
  readonly #contents: Uint8Array;
  readonly #lengths: Float64Array;
  readonly #range = new BlockRange();
  readonly #relays: RelaySide | undefined;
  /** The first-block buffers, from the start on. */
  #buffers!: FirstBuffers;
  #headersAhead!: HeadersAhead;
  readonly #plans: Plans;
  /** The first header of the send slots. */
  readonly #headersAt: number;
  /** Messages that have begun and not finished, in order of number. */
  private readonly open: readonly OpenMessage[];
  /** Number in `open` of the message whose sends are being posted. */
  #cursor = 0;

  constructor(
    private readonly config: MachineConfig,
    private readonly port: GroupPort,
    private readonly announcements: Announcements,
    private readonly receiveSide: ReceiveSide,
    { plans, open }: { readonly plans: Plans; readonly open: OpenMessage[] },
  ) {
    this.open = open;
    this.#plans = plans;
    const slots = config.sendWindow;
    this.#freeSlots = Uint8Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#freeCount = slots;
    this.#most = slots;
    this.#messages = new Array<OpenMessage | undefined>(slots).fill(undefined);
    this.#contents = new Uint8Array(slots);
    const { relays, receiveWindow } = config;
    const relaysAhead = relays?.ahead ?? 0;
    this.#headersAt = receiveSlots({ receiveWindow, relaysAhead });
    this.#relays = relays && new RelaySide(relays, slots, receiveSide.slots);
    this.#lengths = new Float64Array(slots + relaysAhead);
  }

  start(buffers: FirstBuffers): void {
    this.#buffers = buffers;
    this.#headersAhead = new HeadersAhead(this.config, buffers.bytes, this.#plans);
  }

  /** The number of sends that have not completed. */
  get outstanding(): number {
    return this.#most - this.#freeCount + (this.#relays?.outstanding ?? 0);
  }

  /** Narrows the windows: `relays` that wait for their blocks, at most. Call it before the first `advance`. */
  limit(sends: number, relays: number): void {
    this.#most = Math.min(this.#most, sends);
    this.#freeCount = this.#most;
    this.#relays?.limit(relays);
  }

  /** Whether the completion of a send could allow progress: a further send, or the end of a message. */
  get waitsForOwn(): boolean {
    if (this.outstanding === 0) return false;
    if (this.#cursor > 0 && this.open[0]!.received === this.open[0]!.blocks) return true;
    const waitsForSlot = this.#headersAhead.areLeft || this.#mayPost();
    return (this.#freeCount === 0 && waitsForSlot) || this.#relayWaitsForSlot();
  }

  /** The neighbours for whose blocks the device waits before it sends others to `pair`. */
  relaySources(pair: number): readonly number[] {
    return this.#relays?.sourcesOf(pair) ?? [];
  }

  /** The message of the next send; undefined if all are posted. */
  get current(): OpenMessage | undefined {
    return this.open[this.#cursor];
  }

  /** Whether as many sends are under way as may be. */
  get isFull(): boolean {
    return this.#freeCount === 0;
  }

  /** Posts all sends that are possible now. */
  advance(): void {
    while (this.#cursor < this.open.length) {
      const message = this.open[this.#cursor]!;
      const { sends } = message.plan;
      const index = message.sendsPosted;
      if (!sends.has(index)) {
        message.sendsEnded = true;
        this.#cursor += 1;
        continue;
      }
      const block = sends.block(index);
      const pair = sends.pair(index);
      this.#sendHeaders(message);
      if (this.#headersAhead.isDue(message, pair)) return;
      if (!this.announcements.mayUse(pair)) return;
      if (!message.has(block)) {
        if (!this.#relay(message, pair, block)) return;
        continue;
      }
      if (this.#freeCount === 0) return;
      this.#post(message, pair, block);
    }
  }

  /** The send in `slot` completed. */
  completed(slot: number): void {
    const isRelay = slot >= this.config.sendWindow;
    const message = isRelay ? this.#relays!.completed(slot) : this.#free(slot);
    const content = isRelay ? Content.BLOCK : this.#contents[slot]!;
    if (content === Content.HEADER) {
      this.config.trace?.headerFinished(slot);
      return;
    }
    message.sendsCompleted += 1;
    this.config.trace?.sendFinished(slot);
    this.config.counters[Counter.BLOCKS_SENT]! += 1;
    this.config.counters[Counter.BYTES_SENT]! += this.#lengths[slot]!;
    if (content === Content.BLOCK) return;
    message.sendsFromBuffer -= 1;
    this.receiveSide.freeBuffer(message);
  }

  /** The first open message was removed from the list. */
  shifted(): void {
    this.#cursor -= 1;
  }

  /** Whether the next send of the schedule waits only for a slot. */
  #mayPost(): boolean {
    const message = this.open[this.#cursor];
    if (!message) return false;
    const { sends } = message.plan;
    const index = message.sendsPosted;
    if (!sends.has(index)) return true;
    const pair = sends.pair(index);
    if (!this.announcements.mayUse(pair)) return false;
    return message.has(sends.block(index)) || this.#headersAhead.isDue(message, pair);
  }

  /** Whether the next send of the schedule is a relay that waits only for a slot. */
  #relayWaitsForSlot(): boolean {
    const message = this.open[this.#cursor];
    if (!message || !this.#relays?.isFull) return false;
    const { sends } = message.plan;
    const index = message.sendsPosted;
    if (!sends.has(index) || !this.announcements.mayUse(sends.pair(index))) return false;
    return this.#relays.receiveOf(message, sends.block(index)) !== -1;
  }

  /** Sends the header to all neighbours that need it and can take it. */
  #sendHeaders(message: OpenMessage): void {
    for (const pair of this.#headersAhead.due(message)) {
      if (this.#freeCount === 0) return;
      if (!this.#headersAhead.isDue(message, pair) || !this.announcements.mayUse(pair)) continue;
      this.#postHeader(message, pair);
    }
  }

  #postHeader(message: OpenMessage, pair: number): void {
    const slot = this.#take(message, Content.HEADER);
    this.announcements.used(pair);
    this.#headersAhead.sent(message, pair);
    this.config.trace?.headerStarted(slot, pair, message.number);
    writeHeader(this.config.headers, this.#headersAt + slot, message, HEADER_AHEAD);
    this.port.postSend(pair, slot, HEADER_AHEAD, this.#range.at(0, 0, NO_KEY), true);
  }

  /** Takes a send slot. */
  #take(message: OpenMessage, content: number): number {
    this.#freeCount -= 1;
    const slot = this.#freeSlots[this.#freeCount]!;
    this.#messages[slot] = message;
    this.#contents[slot] = content;
    return slot;
  }

  #free(slot: number): OpenMessage {
    const message = this.#messages[slot]!;
    this.#messages[slot] = undefined;
    this.#freeSlots[this.#freeCount] = slot;
    this.#freeCount += 1;
    return message;
  }

  /** Lets the device send the block when it comes. Returns whether that is possible. */
  #relay(message: OpenMessage, pair: number, block: number): boolean {
    const relays = this.#relays;
    if (!relays || relays.isFull) return false;
    const headerSlot = relays.receiveOf(message, block);
    if (headerSlot === -1) return false;
    const wakes = this.#begin(message, pair);
    const slot = relays.post(message, pair, headerSlot, wakes);
    this.#lengths[slot] = message.length(block);
    this.config.trace?.sendStarted(slot, pair, message.number, block);
    return true;
  }

  /** Counts a send. Returns whether the target's worker has something to do when the block arrives. */
  #begin(message: OpenMessage, pair: number): boolean {
    const index = message.sendsPosted;
    message.sendsPosted += 1;
    this.announcements.used(pair);
    if (!this.#relays || this.announcements.wantsMore(pair)) return true;
    return this.#isLast(message, index, pair);
  }

  /** Whether no further block of the message goes to that neighbour; also true where that is not known. */
  #isLast({ plan }: OpenMessage, index: number, pair: number): boolean {
    const furthest = index + LOOK_AHEAD * this.config.neighbours.length;
    for (let next = index + 1; next <= furthest; next += 1) if (plan.sends.peek(next) === pair) return false;
    return true;
  }

  #post(message: OpenMessage, pair: number, block: number): void {
    const fromBuffer = message.isInBuffer(block);
    const slot = this.#take(message, fromBuffer ? Content.BLOCK_FROM_BUFFER : Content.BLOCK);
    const length = message.length(block);
    const wakes = this.#begin(message, pair);
    this.#lengths[slot] = length;
    this.config.trace?.sendStarted(slot, pair, message.number, block);
    const headerSlot = this.#headersAt + slot;
    writeHeader(this.config.headers, headerSlot, message, block);
    // Only the first block: before the application gives memory no other block is here.
    if (fromBuffer) {
      message.sendsFromBuffer += 1;
      const address = this.#buffers.address(message.buffer);
      const range = this.#range.at(address, length, this.#buffers.lkey(message.buffer));
      this.port.postSend(pair, slot, block, range, wakes);
    } else {
      this.port.postSend(
        pair,
        slot,
        block,
        this.#range.at(message.place(block), length, message.lkey),
        wakes,
      );
    }
  }
}
