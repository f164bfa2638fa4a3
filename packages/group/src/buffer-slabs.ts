/*
 * The memory of a node's first-block buffers, in slabs of BUFFERS_PER_SLAB buffers, one region each:
 *
 *   0            bytes        2 bytes
 *   +------------+------------+---------  …  -+
 *   | buffer     | buffer     |               |   bytes: the same for all buffers of a size
 *   +------------+------------+---------  …  -+
 *
 * There is a buffer for each open group that receives blocks, and SPARE_BUFFERS more (`worker/first-buffers.ts`).
 */
import { SerialQueue } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { BUFFERS_PER_SLAB, EAGER_BYTES, EAGER_NETWORK_BYTES, SPARE_BUFFERS } from './constants.js';
import type { SlabSetup } from './records.js';

/** The functions of the node that its slabs call. */
export interface SlabPort {
  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  allocate(byteLength: number): Promise<MemoryRegion>;
  /** Resolves when the worker has the buffers. */
  add(slab: SlabSetup): Promise<void>;
  /** Resolves when the worker does not use any buffer of that size; also if the worker has died. */
  drop(bufferBytes: number): Promise<void>;
}

interface Size {
  readonly regions: MemoryRegion[];
  groups: number;
}

/** Bytes of a first-block buffer of a group with blocks of up to that many bytes, over these transports. All members have the same. */
export function bufferBytes(maxBlockBytes: number, transports: readonly string[]): number {
  const most = transports.every((name) => name === 'shm') ? EAGER_BYTES : EAGER_NETWORK_BYTES;
  return Math.min(most, 2 ** Math.ceil(Math.log2(maxBlockBytes)));
}

/** The first-block buffers of a node, in the application's thread: allocates them for groups, and frees them with the last one. */
export class BufferSlabs {
  readonly #sizes = new Map<number, Size>();
  readonly #jobs = new SerialQueue();

  constructor(private readonly port: SlabPort) {}

  /** A group that receives blocks is about to start. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  join(bytes: number): Promise<void> {
    return this.#jobs.run(async () => {
      const size = this.#sizes.get(bytes) ?? { regions: [], groups: 0 };
      this.#sizes.set(bytes, size);
      try {
        if (size.regions.length * BUFFERS_PER_SLAB <= size.groups + SPARE_BUFFERS)
          await this.#grow(size, bytes);
      } catch (error) {
        await this.#shrink(size, bytes);
        throw error;
      }
      size.groups += 1;
    });
  }

  /** A group for which `join` resolved has ended: the worker does not know it any more. */
  leave(bytes: number): Promise<void> {
    return this.#jobs.run(async () => {
      const size = this.#sizes.get(bytes)!;
      size.groups -= 1;
      await this.#shrink(size, bytes);
    });
  }

  async #grow({ regions }: Size, bytes: number): Promise<void> {
    const region = await this.port.allocate(BUFFERS_PER_SLAB * bytes);
    regions.push(region);
    await this.port.add({ bufferBytes: bytes, region: region.handle, buffers: BUFFERS_PER_SLAB });
  }

  async #shrink({ regions, groups }: Size, bytes: number): Promise<void> {
    if (groups > 0) return;
    this.#sizes.delete(bytes);
    await this.port.drop(bytes);
    await Promise.all(regions.map((region) => region.close()));
  }
}
