import type { Device, MemoryRegion } from '@rdmc/verbs';
import { automaticBlockSize } from './block-size.js';
import { blockCount } from './blocks.js';
import { MAX_BLOCKS_PER_MESSAGE } from './constants.js';
import { GroupError } from './errors.js';
import type { CheckedGroupOptions, RegionRange } from './group-options.js';
import { checkRange } from './region-range.js';
import { SendQueue } from './send-queue.js';
import type { WorkerLink } from './worker-link.js';

/** Sends the root's messages: checks the region, chooses the block size, and queues the message for the worker. */
export class RootSender {
  readonly queue: SendQueue;

  constructor(
    private readonly options: CheckedGroupOptions,
    private readonly device: Device,
    link: WorkerLink,
    slot: number,
    private readonly transports: () => readonly string[],
  ) {
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
}
