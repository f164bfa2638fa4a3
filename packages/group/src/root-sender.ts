import { Buffer } from 'node:buffer';
import { Deferred } from '@rdmc/common';
import type { Device, MemoryRegion } from '@rdmc/verbs';
import { automaticBlockSize } from './block-size.js';
import { blockCount } from './blocks.js';
import type { CheckedGroupOptions } from './checked-group-options.js';
import { MAX_BLOCKS_PER_MESSAGE } from './constants.js';
import { AbortError, GroupError } from './errors.js';
import type { RegionRange } from './group-options.js';
import { copyParts, lengthOf } from './message-bytes.js';
import { checkRange } from './region-range.js';
import { type PooledMemory, SendPool } from './send-pool.js';
import { SendQueue, type SendRange } from './send-queue.js';
import { EntryWriter } from './small/entry-writer.js';
import type { SmallMemory } from './small/small-memory.js';
import type { WorkerLink } from './worker-link.js';

/** A message that was given as bytes. */
export interface BytesSent {
  /** Resolves when the bytes were copied: the caller may change them. Rejects as `sent`. */
  readonly copied: Promise<void>;
  /** As the promise of a region's send. */
  readonly sent: Promise<void>;
}

/** The functions of node and worker that a root's messages need. */
interface RootPorts {
  readonly allocate: (byteLength: number) => Promise<MemoryRegion>;
  readonly link: WorkerLink;
  readonly slot: number;
}

/**
 * Sends the root's messages: checks the memory, chooses the block size, and queues the message for the worker. A sender of many
 * has a ring only.
 */
export class RootSender {
  readonly queue: SendQueue;
  readonly #pool: SendPool;
  readonly #link: WorkerLink;
  readonly #slot: number;
  /** The largest message that goes through the ring; −1: the group does not have one. */
  #mostSmallBytes = -1;

  constructor(
    private readonly options: CheckedGroupOptions,
    private readonly device: Device,
    private readonly transports: () => readonly string[],
    { allocate, link, slot }: RootPorts,
  ) {
    this.#link = link;
    this.#slot = slot;
    this.#pool = new SendPool(options.sendBufferBytes, allocate);
    this.queue = new SendQueue((number, { region, offset, byteLength }) => {
      const address = region.address + offset;
      link.commands.send(slot, number, address, byteLength, region.lkey, this.#blockSize(byteLength));
    });
  }

  /** The group has a ring for small messages. `full` is called when there is no room in it. */
  useRing({ bytes, control }: SmallMemory, full: () => void, published?: (head: number) => void): void {
    const { smallMessageBytes, sendBufferBytes } = this.options;
    this.#mostSmallBytes = Math.min(smallMessageBytes, sendBufferBytes);
    const kick = () => this.#link.commands.kickSmall(this.#slot);
    const writer = new EntryWriter(bytes, control, kick, published);
    writer.onFull = full;
    this.queue.useRing(writer);
  }

  /** Sends a message at once if it is small, not empty, and nothing waits; false: use `sendBytes`. */
  trySmall(bytes: Uint8Array): boolean {
    const { byteLength } = bytes;
    return byteLength > 0 && byteLength <= this.#mostSmallBytes && this.queue.trySmall(bytes);
  }

  /** @throws GroupError ERR_RDMC_INVALID_REGION, ERR_RDMC_TOO_MANY_BLOCKS, or the error of the group */
  send(given: MemoryRegion | RegionRange, signal: AbortSignal | undefined): Promise<void> {
    const range = checkRange('send', given, undefined, this.device);
    if (this.options.senders) return this.#sendCopy(range, signal);
    this.#checkBlocks(range.byteLength);
    return this.queue.enqueue(range, signal);
  }

  /**
   * Sends a message that is made of these parts: copies them, one after the other, into memory of the pool once there is
   * some. Later messages follow it, also those that need no memory.
   * @throws GroupError ERR_RDMC_MESSAGE_TOO_LARGE, ERR_RDMC_TOO_MANY_BLOCKS; AbortError
   */
  sendBytes(parts: readonly Uint8Array[], signal: AbortSignal | undefined): BytesSent {
    const byteLength = lengthOf(parts);
    this.#checkSize(byteLength);
    if (signal?.aborted) throw new AbortError('The send', signal);
    if (byteLength <= this.#mostSmallBytes) {
      const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      const sent = this.queue.enqueueSmall([bytes], signal);
      return { copied: sent, sent };
    }
    const memory = this.#pool.tryTake(byteLength);
    if (!memory) return this.#sendLater(parts, byteLength, signal);
    const range = filled(memory, parts, byteLength);
    return { copied: Promise.resolve(), sent: this.queue.enqueueHeld(range, memory, signal) };
  }

  /**
   * Sends messages in order, small ones together. Nothing is sent if one of them is refused.
   * @throws GroupError as `sendBytes`
   */
  async sendMany(messages: readonly Uint8Array[]): Promise<void> {
    for (const { byteLength } of messages) {
      if (byteLength > this.#mostSmallBytes) this.#checkSize(byteLength);
    }
    let at = 0;
    while (at < messages.length && this.trySmall(messages[at]!)) at += 1;
    const sends: Promise<void>[] = [];
    while (at < messages.length) {
      const run = this.#smallRun(messages, at);
      if (run > at) sends.push(this.queue.enqueueSmall(messages.slice(at, run), undefined));
      else sends.push(this.sendBytes([messages[at]!], undefined).sent);
      at = Math.max(run, at + 1);
    }
    if (sends.length > 0) await Promise.all(sends);
  }

  /**
   * The group has ended: rejects all messages, and frees the pool's memory. Call it when the device does not use that any
   * more. Resolves when memory that is being allocated is free too.
   */
  end(error: unknown): Promise<void> {
    this.#pool.dropRequests();
    this.queue.fail(error);
    return this.#pool.close();
  }

  /** Sends a region of a group of many senders through the ring. */
  async #sendCopy({ region, offset, byteLength }: SendRange, signal: AbortSignal | undefined): Promise<void> {
    this.#checkSize(byteLength);
    using _ = region.hold();
    await this.sendBytes([region.view(offset, byteLength)], signal).sent;
  }

  #sendLater(parts: readonly Uint8Array[], byteLength: number, signal: AbortSignal | undefined): BytesSent {
    const copied = new Deferred<void>();
    const place = this.queue.reserve({ [Symbol.dispose]: () => withdraw() }, signal);
    const ready = (memory: PooledMemory): void => {
      if (!place.isWaiting()) {
        memory[Symbol.dispose]();
        return;
      }
      try {
        place.fill(filled(memory, parts, byteLength), memory);
        copied.resolve();
      } catch (error) {
        place.fail(error);
      }
    };
    const withdraw = this.#pool.take(byteLength, ready, (error) => place.fail(error));
    place.done.catch(copied.reject);
    return { copied: copied.promise, sent: place.done };
  }

  #blockSize(byteLength: number): number {
    const { blockBytes, members } = this.options;
    if (blockBytes !== 'auto') return blockBytes;
    return automaticBlockSize(byteLength, members.length, this.transports());
  }

  /** The end of the small messages that begin at index `at`. */
  #smallRun(messages: readonly Uint8Array[], at: number): number {
    let end = at;
    while (end < messages.length && messages[end]!.byteLength <= this.#mostSmallBytes) end += 1;
    return end;
  }

  #checkSize(byteLength: number): void {
    const { senders, smallMessageBytes } = this.options;
    if (senders) {
      if (byteLength > smallMessageBytes) throw this.#notSmall(byteLength);
      return;
    }
    this.#checkBlocks(byteLength);
    if (!this.#pool.fits(byteLength)) throw this.#tooLarge(byteLength);
  }

  #checkBlocks(byteLength: number): void {
    const blocks = blockCount(byteLength, this.#blockSize(byteLength));
    if (blocks <= MAX_BLOCKS_PER_MESSAGE) return;
    throw new GroupError(
      'ERR_RDMC_TOO_MANY_BLOCKS',
      `send: ${byteLength} bytes need ${blocks} blocks, and a message has at most ${MAX_BLOCKS_PER_MESSAGE}; ` +
        'create the group with larger blocks',
    );
  }

  #notSmall(byteLength: number): GroupError {
    return new GroupError(
      'ERR_RDMC_MESSAGE_TOO_LARGE',
      `send: ${byteLength} bytes are more than smallMessageBytes, the ${this.options.smallMessageBytes} bytes that a group of ` +
        'many senders takes; create it with a larger smallMessageBytes, or a group of one sender for large messages',
    );
  }

  #tooLarge(byteLength: number): GroupError {
    return new GroupError(
      'ERR_RDMC_MESSAGE_TOO_LARGE',
      `send: ${byteLength} bytes are more than sendBufferBytes, the ${this.options.sendBufferBytes} bytes of memory for ` +
        'copies; send a region of node.allocate(), which is not copied, or create the group with a larger sendBufferBytes',
    );
  }
}

/** The range of a message that was copied. @throws GroupError ERR_RDMC_INVALID_MESSAGE; the memory is given back then */
function filled(memory: PooledMemory, parts: readonly Uint8Array[], byteLength: number): SendRange {
  try {
    copyParts(parts, byteLength, memory.view);
  } catch (error) {
    memory[Symbol.dispose]();
    throw error;
  }
  return { region: memory.region, offset: 0, byteLength };
}
