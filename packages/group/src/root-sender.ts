import { Deferred } from '@rdmc/common';
import type { Device, MemoryRegion } from '@rdmc/verbs';
import { automaticBlockSize } from './block-size.js';
import { blockCount } from './blocks.js';
import { MAX_BLOCKS_PER_MESSAGE } from './constants.js';
import { AbortError, GroupError } from './errors.js';
import type { CheckedGroupOptions, RegionRange } from './group-options.js';
import { copyParts, lengthOf } from './message-bytes.js';
import { checkRange } from './region-range.js';
import { type PooledMemory, SendPool } from './send-pool.js';
import { SendQueue, type SendRange } from './send-queue.js';
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

/** Sends the root's messages: checks the memory, chooses the block size, and queues the message for the worker. */
export class RootSender {
  readonly queue: SendQueue;
  readonly #pool: SendPool;

  constructor(
    private readonly options: CheckedGroupOptions,
    private readonly device: Device,
    private readonly transports: () => readonly string[],
    { allocate, link, slot }: RootPorts,
  ) {
    this.#pool = new SendPool(options.sendBufferBytes, allocate);
    this.queue = new SendQueue((number, { region, offset, byteLength }) => {
      const address = region.address + offset;
      link.commands.send(slot, number, address, byteLength, region.lkey, this.#blockSize(byteLength));
    });
  }

  /** @throws GroupError ERR_RDMC_INVALID_REGION, ERR_RDMC_TOO_MANY_BLOCKS, or the error of the group */
  send(given: MemoryRegion | RegionRange, signal: AbortSignal | undefined): Promise<void> {
    const range = checkRange('send', given, undefined, this.device);
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
    this.#checkBlocks(byteLength);
    if (!this.#pool.fits(byteLength)) throw this.#tooLarge(byteLength);
    if (signal?.aborted) throw new AbortError('The send', signal);
    const memory = this.#pool.tryTake(byteLength);
    if (!memory) return this.#sendLater(parts, byteLength, signal);
    const range = filled(memory, parts, byteLength);
    return { copied: Promise.resolve(), sent: this.queue.enqueueHeld(range, memory, signal) };
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

  #checkBlocks(byteLength: number): void {
    const blocks = blockCount(byteLength, this.#blockSize(byteLength));
    if (blocks <= MAX_BLOCKS_PER_MESSAGE) return;
    throw new GroupError(
      'ERR_RDMC_TOO_MANY_BLOCKS',
      `send: ${byteLength} bytes need ${blocks} blocks, and a message has at most ${MAX_BLOCKS_PER_MESSAGE}; ` +
        'create the group with larger blocks',
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
