/*
 * The memory of one group at one member, one region:
 *
 *   0
 *   +------------------+-----------------+
 *   | receive headers  | send headers    |
 *   | receiveSlots·20  | sendWindow·20   |
 *   +------------------+-----------------+
 *
 * Where the device relays, a receive header is in use until it has been relayed; so there are more of them than receives.
 * First-block buffers belong to the node (`buffer-slabs.ts`).
 */
import { HEADER_BYTES } from './constants.js';

export interface MemoryNeeds {
  readonly receiveWindow: number;
  readonly sendWindow: number;
  /** Relays that wait in the device for their blocks, at most; 0: the worker relays. */
  readonly relaysAhead: number;
}

/** Receive headers, and places of receives in the worker. */
export function receiveSlots({
  receiveWindow,
  relaysAhead,
}: Pick<MemoryNeeds, 'receiveWindow' | 'relaysAhead'>): number {
  return receiveWindow + relaysAhead;
}

/** All headers, in bytes. */
export function groupMemoryBytes(needs: MemoryNeeds): number {
  return (receiveSlots(needs) + needs.sendWindow) * HEADER_BYTES;
}
