/*
 * The memory of one group at one member, one region:
 *
 *   0                                    headersEnd, rounded up to 64
 *   +------------------+-----------------+---------+---------+---------+---------+
 *   | receive headers  | send headers    | first-block buffers, maxBlockBytes    |
 *   | receiveWindow·16 | sendWindow·16   | each, OPEN_MESSAGES of them           |
 *   +------------------+-----------------+---------+---------+---------+---------+
 *
 * The root does not receive blocks, nor do the members of a group of many senders: they do not have first-block buffers.
 */
import { HEADER_BYTES, OPEN_MESSAGES } from './constants.js';

const LINE_BYTES = 64;

export interface MemoryNeeds {
  readonly receiveWindow: number;
  readonly sendWindow: number;
  readonly maxBlockBytes: number;
  readonly receivesBlocks: boolean;
}

/** Offset of the first-block buffers. */
export function buffersOffset({
  receiveWindow,
  sendWindow,
}: Pick<MemoryNeeds, 'receiveWindow' | 'sendWindow'>): number {
  return Math.ceil(((receiveWindow + sendWindow) * HEADER_BYTES) / LINE_BYTES) * LINE_BYTES;
}

export function groupMemoryBytes(needs: MemoryNeeds): number {
  const buffers = needs.receivesBlocks ? OPEN_MESSAGES * needs.maxBlockBytes : 0;
  return buffersOffset(needs) + buffers;
}
