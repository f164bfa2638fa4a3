import type { Announcements } from './announcements.js';
import { BlockRange } from './block-range.js';
import { Counter } from './counters.js';
import { writeHeader } from './header.js';
import type { MachineConfig } from './machine-config.js';
import type { OpenMessage } from './open-message.js';
import type { GroupPort } from './port.js';
import type { ReceiveSide } from './receive-side.js';

/**
 * Sends blocks strictly in the order of the schedule, message after message, at most `sendWindow` at once. The next
 * block is sent when it is here and its target has announced a receive for it.
 */
export class SendSide {
  readonly #freeSlots: Uint8Array;
  #freeCount: number;
  /** The most sends that have not completed. */
  #most: number;
  readonly #messages: (OpenMessage | undefined)[];
  readonly #fromBuffer: Uint8Array;
  readonly #lengths: Float64Array;
  readonly #range = new BlockRange();
  /** Number in `open` of the message whose sends are being posted. */
  #cursor = 0;

  constructor(
    private readonly config: MachineConfig,
    private readonly port: GroupPort,
    private readonly announcements: Announcements,
    private readonly receiveSide: ReceiveSide,
    private readonly open: OpenMessage[],
  ) {
    const slots = config.sendWindow;
    this.#freeSlots = Uint8Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#freeCount = slots;
    this.#most = slots;
    this.#messages = new Array<OpenMessage | undefined>(slots).fill(undefined);
    this.#fromBuffer = new Uint8Array(slots);
    this.#lengths = new Float64Array(slots);
  }

  /** The number of sends that have not completed. */
  get outstanding(): number {
    return this.#most - this.#freeCount;
  }

  /** Narrows the window. Call it before the first `advance`. */
  limit(sends: number): void {
    this.#most = Math.min(this.#most, sends);
    this.#freeCount = this.#most;
  }

  /** Whether the completion of a send could allow progress: a further send, or the end of a message. */
  get waitsForOwn(): boolean {
    if (this.outstanding === 0) return false;
    if (this.#cursor > 0 && this.open[0]!.received === this.open[0]!.blocks) return true;
    return this.#freeCount === 0 && this.#mayPost();
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
      if (this.#freeCount === 0) return;
      const block = sends.block(index);
      const pair = sends.pair(index);
      if (!message.has(block) || !this.announcements.mayUse(pair)) return;
      this.#post(message, pair, block);
    }
  }

  /** The send in `slot` completed. */
  completed(slot: number): void {
    const message = this.#messages[slot]!;
    this.#messages[slot] = undefined;
    this.#freeSlots[this.#freeCount] = slot;
    this.#freeCount += 1;
    message.sendsCompleted += 1;
    this.config.trace?.sendFinished(slot);
    this.config.counters[Counter.BLOCKS_SENT]! += 1;
    this.config.counters[Counter.BYTES_SENT]! += this.#lengths[slot]!;
    if (this.#fromBuffer[slot] === 0) return;
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
    return message.has(sends.block(index)) && this.announcements.mayUse(sends.pair(index));
  }

  #post(message: OpenMessage, pair: number, block: number): void {
    this.#freeCount -= 1;
    const slot = this.#freeSlots[this.#freeCount]!;
    const fromBuffer = !message.placed;
    const length = message.length(block);
    message.sendsPosted += 1;
    this.#messages[slot] = message;
    this.#lengths[slot] = length;
    this.#fromBuffer[slot] = fromBuffer ? 1 : 0;
    this.announcements.used(pair);
    this.config.trace?.sendStarted(slot, pair, message.number, block);
    const headerSlot = this.config.receiveWindow + slot;
    writeHeader(this.config.headers, headerSlot, message.byteLength, message.blockBytes, message.number);
    // Before the application gives memory only the first block is here: it is sent from its buffer.
    if (fromBuffer) {
      message.sendsFromBuffer += 1;
      const address = this.receiveSide.bufferAddress(message.buffer);
      this.port.postSend(pair, slot, block, this.#range.at(address, length, this.config.buffersLkey));
    } else {
      this.port.postSend(pair, slot, block, this.#range.at(message.place(block), length, message.lkey));
    }
  }
}
