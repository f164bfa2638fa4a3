import { MessageChannel } from 'node:worker_threads';
import { pause, SerialQueue, within } from '@rdmc/common';
import type { Group } from '@rdmc/group';
import { HEARTBEAT_MS, REPLAYED_MESSAGES } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { InputOrder, InputPart } from '../reader/input-stream.js';
import type { MessageFiller } from './pump.js';

/** Bytes that the application gives, and the file that they become at the receivers. */
export interface StreamInput {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** One component. */
  readonly name: Buffer;
  readonly mode: number;
}

/**
 * Passes the bytes of an input to the reader's thread, as many as the next message needs: this is the backpressure on the
 * input. A wait for bytes ends with the group that they are for; the bytes are then for the next group.
 */
export class InputFeed {
  readonly #channel = new MessageChannel();
  readonly #turn = new SerialQueue();
  readonly #iterator: AsyncIterator<Uint8Array, unknown, undefined>;
  /** The read in progress; it outlives the group that waited for it. */
  #reading: Promise<IteratorResult<Uint8Array, unknown>> | undefined;
  /** Bytes, and whole messages, that the reader's thread has. */
  #bytes = 0;
  #messages = 0;
  /** Messages that are filled, and the bytes that they took. */
  #filled = 0;
  #takenBytes = 0;
  #ended = false;
  /** Whether messages wait for receivers that have not confirmed earlier ones. */
  isHeldUp = false;

  constructor(private readonly input: StreamInput) {
    this.#iterator = input.chunks[Symbol.asyncIterator]();
  }

  /** For the reader's thread, with `order.port` transferred. Call once. */
  order(): InputOrder {
    const { name, mode } = this.input;
    const time = { seconds: Math.floor(Date.now() / 1000), nanoseconds: 0 };
    return { name: new Uint8Array(name), mode, time, port: this.#channel.port2 };
  }

  /**
   * A filler that waits for the bytes of each message.
   * @param confirmed messages that all receivers have: the others are kept, and limited in number
   */
  filler(reader: MessageFiller, confirmed: () => number): MessageFiller {
    return {
      enterRun: (order) => reader.enterRun(order),
      fill: async (order, forming) => {
        const group = await forming;
        await this.#turn.run(() => this.#supply(order.sequence, order.byteLength, confirmed, group));
        const filled = await reader.fill({ ...order, forgetBelow: confirmed() }, forming);
        this.#taken(order.sequence, filled.contentBytes);
        return filled;
      },
    };
  }

  /** Ends the input, also where the application waits for something. Idempotent. */
  close(): void {
    this.#ended = true;
    this.#channel.port1.close();
    const { chunks } = this.input as { chunks: Partial<{ destroy(): unknown; return(): unknown }> };
    // The iterator of a stream ends only after the read in progress, which may wait for ever.
    if (typeof chunks.destroy === 'function') chunks.destroy();
    else void Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }

  /** A message that is filled again takes no bytes. */
  #taken(sequence: number, contentBytes: number): void {
    if (sequence < this.#filled) return;
    this.#filled = sequence + 1;
    this.#takenBytes = contentBytes;
  }

  async #supply(
    sequence: number,
    messageBytes: number,
    confirmed: () => number,
    { signal }: Group,
  ): Promise<void> {
    try {
      while (sequence - confirmed() >= REPLAYED_MESSAGES) {
        this.isHeldUp = true;
        signal.throwIfAborted();
        await pause(HEARTBEAT_MS, signal);
      }
    } finally {
      this.isHeldUp = false;
    }
    if (sequence < this.#messages) return;
    while (!this.#ended && this.#bytes < this.#neededBytes(sequence, messageBytes)) await this.#read(signal);
    this.#messages = sequence + 1;
  }

  /** Messages have less room for contents than memory, so what the filled ones took is counted, not estimated. */
  #neededBytes(sequence: number, messageBytes: number): number {
    return this.#takenBytes + (sequence + 1 - this.#filled) * messageBytes;
  }

  /** @throws CastError ERR_RDMC_UNREADABLE where the input fails; the reason of the signal */
  async #read(signal: AbortSignal): Promise<void> {
    this.#reading ??= this.#next();
    const { value, done } = await within(this.#reading, { signal });
    this.#reading = undefined;
    if (done) {
      this.#ended = true;
      this.#post({ end: true });
      return;
    }
    // A copy: the buffer of a small chunk is a part of a larger one.
    const bytes = new Uint8Array(value);
    this.#bytes += bytes.length;
    this.#post({ bytes }, bytes);
  }

  #next(): Promise<IteratorResult<Uint8Array, unknown>> {
    const read = readNext(this.#iterator);
    // The group that waits for it may end first.
    read.catch(() => {});
    return read;
  }

  #post(part: InputPart, bytes?: Uint8Array): void {
    this.#channel.port1.postMessage(part, bytes ? [bytes.buffer as ArrayBuffer] : []);
  }
}

async function readNext(
  iterator: AsyncIterator<Uint8Array, unknown, undefined>,
): Promise<IteratorResult<Uint8Array, unknown>> {
  let result: IteratorResult<unknown, unknown>;
  try {
    result = await iterator.next();
  } catch (cause) {
    const reason = codeOf(cause) === undefined ? messageOf(cause) : `${codeOf(cause)}: ${messageOf(cause)}`;
    throw new CastError('ERR_RDMC_UNREADABLE', `the input failed: ${reason}; nothing was stored`, { cause });
  }
  if (result.done || result.value instanceof Uint8Array) return result as IteratorResult<Uint8Array, unknown>;
  if (typeof result.value === 'string') return { done: false, value: Buffer.from(result.value) };
  throw new CastError(
    'ERR_RDMC_UNREADABLE',
    `the input gave a ${typeof result.value}; it must give bytes (Uint8Array) or text`,
  );
}
