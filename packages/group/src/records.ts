/*
 * What the application's thread and the worker say to each other about groups. `group` is the number this
 * node gave the group when it was opened, not its id.
 *
 * Numbers travel as a row of Float64 (little endian, 8 bytes each), everything else as JSON in UTF-8.
 *
 *   command        payload
 *    1 OPEN        JSON GroupSetup
 *    2 PAIR        JSON {group, pair}                    answer: JSON PairAddress
 *    3 CONNECT     JSON {group, pair, address}           answer when connected
 *    4 START       group                                 answer
 *    5 SEND        group, message, address, lkey, sizeBytes, blockSizeBytes
 *    6 PLACE       group, message, address, lkey
 *    7 ABORT       group       answer when the queue pairs are flushed and gone, and with them every claim on memory
 *
 *   event          payload
 *    1 INCOMING    group, message, sizeBytes
 *    2 FINISHED    group, message
 *    3 TROUBLE     JSON Trouble; the group's worker side has stopped
 */
import type { Algorithm, RackId } from '@rdmc/schedule';
import type { QueuePairAddress } from '@rdmc/verbs';

export const PROTOCOL_NAME = 'group';

export const Command = { OPEN: 1, PAIR: 2, CONNECT: 3, START: 4, SEND: 5, PLACE: 6, ABORT: 7 } as const;
export const Event = { INCOMING: 1, FINISHED: 2, TROUBLE: 3 } as const;

/** What the worker needs to take part in a group. */
export interface GroupSetup {
  readonly group: number;
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly rank: number;
  readonly racks: readonly RackId[] | undefined;
  /** Ranks; a `pair` is an index of this list. */
  readonly neighbours: readonly number[];
  readonly firstPair: number;
  readonly receiveWindow: number;
  readonly sendWindow: number;
  readonly retryTimeoutMs: number;
  readonly maxBlockBytes: number;
  /** Region for headers and first-block buffers, laid out in `group-memory.ts`. */
  readonly region: number;
}

/** Where a neighbour finds this member. */
export interface PairAddress {
  readonly data: QueuePairAddress;
  readonly control: QueuePairAddress;
}

/** What a member says when its own RDMA device is gone. */
export const DEVICE_REMOVED = { code: 'ERR_RDMC_DEVICE_REMOVED', reason: 'its RDMA device is gone' } as const;

/** Why a group's worker side stopped. */
export interface Trouble {
  readonly group: number;
  /** The neighbour it happened with; −1: this member itself. */
  readonly pair: number;
  /**
   * `flushed`: a queue pair is in the error state, and does not say whose doing that is. `own`: this member's own
   * device could not send.
   */
  readonly kind: 'queue-pair' | 'flushed' | 'own' | 'protocol' | 'post' | 'device';
  readonly code: string;
  readonly reason: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeNumbers(...numbers: number[]): Uint8Array {
  return new Uint8Array(Float64Array.from(numbers).buffer);
}

/** The numbers of a payload, whatever its alignment. */
export function decodeNumbers(payload: Uint8Array): number[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  return Array.from({ length: payload.byteLength / 8 }, (_, index) => view.getFloat64(index * 8, true));
}

export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

export function decodeJson<T>(payload: Uint8Array): T {
  return JSON.parse(decoder.decode(payload)) as T;
}
