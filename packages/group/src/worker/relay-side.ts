import { BlockRange } from './block-range.js';
import type { DeviceRelays } from './machine-config.js';
import type { OpenMessage } from './open-message.js';
import type { Relay } from './port.js';
import type { ReceiveSlots } from './receive-slots.js';

/** A relay that is used again for each request, to avoid allocations. */
type WritableRelay = { -readonly [Key in keyof Relay]: Relay[Key] };

/**
 * Sends that the device executes when their blocks have come. A relay is posted in its turn of the schedule, as soon as
 *
 *   - its target has announced a receive for it, so that the device never meets a neighbour that is not ready,
 *   - the receive of its block is posted, so that the graph reaches at most one window ahead,
 *   - the application has given memory, so that it begins after the first block of a message.
 *
 * It is in use until it completes, and with it the header of its receive and the memory of the message.
 */
export class RelaySide {
  readonly #free: Uint8Array;
  #freeCount: number;
  #most: number;
  readonly #messages: (OpenMessage | undefined)[];
  readonly #headerSlots: Uint8Array;
  readonly #pairs: Uint16Array;
  readonly #from: Uint16Array;
  readonly #relay: WritableRelay = {
    ...{ pair: 0, slot: 0, block: 0, wakes: true, headerSlot: 0, from: 0, receives: 0 },
  };
  readonly #range = new BlockRange();

  constructor(
    private readonly config: DeviceRelays,
    /** The number of slots of ordinary sends, behind which those of relays are. */
    private readonly sendSlots: number,
    private readonly receives: ReceiveSlots,
  ) {
    const { ahead } = config;
    this.#free = Uint8Array.from({ length: ahead }, (_, index) => ahead - 1 - index);
    this.#freeCount = ahead;
    this.#most = ahead;
    this.#messages = new Array<OpenMessage | undefined>(ahead).fill(undefined);
    this.#headerSlots = new Uint8Array(ahead);
    this.#pairs = new Uint16Array(ahead);
    this.#from = new Uint16Array(ahead);
  }

  /** Relays that have not completed. */
  get outstanding(): number {
    return this.#most - this.#freeCount;
  }

  /** Narrows the reach. Call it before the first relay is posted. */
  limit(ahead: number): void {
    this.#most = Math.min(this.#most, ahead);
    this.#freeCount = this.#most;
  }

  /** The receive of a block that has not come and may be relayed ahead; −1: its relay has to wait. */
  receiveOf(message: OpenMessage, block: number): number {
    return message.placed ? this.receives.expecting(message, block) : -1;
  }

  /** Whether a further relay may be posted. */
  get isFull(): boolean {
    return this.#freeCount === 0;
  }

  /** Posts the relay of the block that the receive in `headerSlot` expects. Returns its slot among all sends. */
  post(message: OpenMessage, pair: number, headerSlot: number, wakes: boolean): number {
    this.#freeCount -= 1;
    const index = this.#free[this.#freeCount]!;
    const from = this.receives.pair(headerSlot);
    const block = this.receives.block(headerSlot);
    this.#messages[index] = message;
    this.#headerSlots[index] = headerSlot;
    this.#pairs[index] = pair;
    this.#from[index] = from;
    this.receives.relayed(headerSlot);
    const relay = this.#relay;
    relay.pair = pair;
    relay.slot = this.sendSlots + index;
    relay.block = block;
    relay.wakes = wakes;
    relay.headerSlot = headerSlot;
    relay.from = from;
    relay.receives = this.receives.number(headerSlot);
    this.config.port.postRelay(
      relay,
      this.#range.at(message.place(block), message.length(block), message.lkey),
    );
    return relay.slot;
  }

  /** The relay in `slot` has completed. Returns its message. */
  completed(slot: number): OpenMessage {
    const index = slot - this.sendSlots;
    const message = this.#messages[index]!;
    this.#messages[index] = undefined;
    this.#free[this.#freeCount] = index;
    this.#freeCount += 1;
    this.receives.relayCompleted(this.#headerSlots[index]!);
    return message;
  }

  /** The neighbours for whose blocks relays to `pair` wait. */
  sourcesOf(pair: number): number[] {
    const waiting = this.#messages.flatMap((message, index) => (message ? [index] : []));
    return waiting.filter((index) => this.#pairs[index] === pair).map((index) => this.#from[index]!);
  }
}
