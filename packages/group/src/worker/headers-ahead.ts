import { goesAhead } from './header.js';
import type { MachineConfig } from './machine-config.js';
import type { OpenMessage } from './open-message.js';
import type { Plans } from './plans.js';

/**
 * Which neighbours do not have the header yet that goes ahead of a message's blocks. A member sends it to those whose first
 * block comes from it, once all sends of the earlier messages are posted: the next receive of such a neighbour is then
 * that of the header. So the header reaches all members at once, while the first block waits for memory.
 */
export class HeadersAhead {
  /** Neighbours whose first block comes from this member. */
  readonly #led: readonly number[];
  /** By neighbour: whether it is led. */
  readonly #isLed: Uint8Array;
  /** The message whose headers were sent last, by neighbour; −1: none. */
  readonly #headerOf: Float64Array;
  /** The message that is being looked at, and its headers that are not sent. */
  #message = -1;
  #left = 0;

  constructor(
    { maxBlockBytes, neighbours }: MachineConfig,
    private readonly bufferBytes: number,
    plans: Plans,
  ) {
    this.#led = maxBlockBytes > bufferBytes ? plans.led : [];
    this.#isLed = new Uint8Array(neighbours.length);
    for (const pair of this.#led) this.#isLed[pair] = 1;
    this.#headerOf = new Float64Array(neighbours.length).fill(-1);
  }

  /** Whether that neighbour needs the header of the message before a block of it. */
  isDue({ number, byteLength, blockBytes }: OpenMessage, pair: number): boolean {
    return (
      this.#isLed[pair] === 1 &&
      this.#headerOf[pair] !== number &&
      goesAhead(byteLength, blockBytes, this.bufferBytes)
    );
  }

  /** The neighbours that need the header of a message. Empty at once for most messages. */
  due(message: OpenMessage): readonly number[] {
    if (this.#led.length === 0) return this.#led;
    if (this.#message !== message.number) {
      this.#message = message.number;
      this.#left = goesAhead(message.byteLength, message.blockBytes, this.bufferBytes) ? this.#led.length : 0;
    }
    return this.#left === 0 ? NONE : this.#led;
  }

  /** Whether neighbours need the header of the message that was looked at last. */
  get areLeft(): boolean {
    return this.#left > 0;
  }

  /** The header was sent to that neighbour. */
  sent({ number }: OpenMessage, pair: number): void {
    this.#headerOf[pair] = number;
    this.#left -= 1;
  }
}

const NONE: readonly number[] = [];
