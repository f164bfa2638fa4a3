import { payloadRoom } from '../seal/layout.js';
import { MessageSealer } from '../seal/message-sealer.js';
import { outlineHash } from '../stream/outline.js';
import type { FilledMessage, MessageSource } from './message-source.js';
import type { RunOrder } from './orders.js';

/** Fills the messages of one run. Where the cast is encrypted, they are encrypted in the memory that is sent. */
export class RunFiller {
  readonly #sealer: MessageSealer | undefined;

  constructor(
    private readonly stream: Pick<MessageSource, 'fill'>,
    private readonly order: RunOrder,
  ) {
    this.#sealer = order.seal && new MessageSealer(order.seal);
  }

  /**
   * Writes message `sequence` of the stream to the beginning of `memory`, whose length is the same in all runs of a cast.
   * @throws CastError ERR_RDMC_NONCE_REFUSED, and those of `StreamReader.fill`
   */
  fill(sequence: number, memory: Buffer): FilledMessage {
    const room = this.#sealer ? payloadRoom(memory.length) : memory.length;
    const filled = this.stream.fill(sequence, memory.subarray(0, room));
    if (filled.bytes === 0) return filled;
    const outline = this.order.outlined ? outlineHash(memory.subarray(0, filled.bytes)) : undefined;
    if (!this.#sealer) return { ...filled, outline };
    const isLast = filled.last && this.order.isLastStream;
    return { ...filled, outline, bytes: this.#sealer.seal(memory, filled.bytes, sequence, isLast) };
  }
}
