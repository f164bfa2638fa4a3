/*
 * The memory of one group at one member, one region:
 *
 *   0                                    headersEnd, rounded up to 64
 *   +------------------+-----------------+---------+---------+---------+---------+
 *   | receive headers  | send headers    | first-block buffers, maxBlockBytes    |
 *   | receiveSlots·20  | sendWindow·20   | each, OPEN_MESSAGES of them           |
 *   +------------------+-----------------+---------+---------+---------+---------+
 *
 * Where the device relays, a receive header is in use until it has been relayed; so there are more of them than receives.
 * The root does not receive blocks, nor do the members of a group of many senders: they do not have first-block buffers.
 */
import { HEADER_BYTES, OPEN_MESSAGES } from './constants.js';

const LINE_BYTES = 64;

export interface MemoryNeeds {
  readonly receiveWindow: number;
  readonly sendWindow: number;
  /** Relays that wait in the device for their blocks, at most; 0: the worker relays. */
  readonly relaysAhead: number;
  readonly maxBlockBytes: number;
  readonly receivesBlocks: boolean;
}

/** Receive headers, and places of receives in the worker. */
export function receiveSlots({
  receiveWindow,
  relaysAhead,
}: Pick<MemoryNeeds, 'receiveWindow' | 'relaysAhead'>): number {
  return receiveWindow + relaysAhead;
}

/** All headers, in bytes. */
export function headersBytes(needs: Omit<MemoryNeeds, 'maxBlockBytes' | 'receivesBlocks'>): number {
  return (receiveSlots(needs) + needs.sendWindow) * HEADER_BYTES;
}

/** Offset of the first-block buffers. */
export function buffersOffset(needs: Omit<MemoryNeeds, 'maxBlockBytes' | 'receivesBlocks'>): number {
  return Math.ceil(headersBytes(needs) / LINE_BYTES) * LINE_BYTES;
}

export function groupMemoryBytes(needs: MemoryNeeds): number {
  const buffers = needs.receivesBlocks ? OPEN_MESSAGES * needs.maxBlockBytes : 0;
  return buffersOffset(needs) + buffers;
}
