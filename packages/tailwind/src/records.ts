/*
 * What the application's thread and the worker say to each other. Numbers (of pairs, channels, targets, keys) are
 * given by the application's thread and never used twice in a process.
 *
 * A *pair* is a queue pair with one member. A *channel* is an open segment of a primary, with one *target* per
 * replica. A *key* names a buffer to which the backup's worker copies in the RPC scheme.
 *
 * Numbers travel as a row of Float64 (little endian, 8 bytes each), everything else as JSON in UTF-8.
 *
 *   command       payload
 *    1 PAIR       JSON PairSetup                         answer: JSON address
 *    2 CONNECT    JSON {pair, address, retryTimeoutMs}   answer: JSON transport, once connected
 *    3 DROP       pair                                   answer once it is flushed and gone
 *    4 CHANNEL    JSON ChannelSetup                      answer
 *    5 APPEND     channel, sequence, offset, lengthBytes
 *    6 REPLACE    JSON {channel, lost, target}           the new target gets all that was appended so far
 *    7 RESUME     channel                                acknowledges again
 *    8 END        channel                                answer; the channel is gone
 *    9 READ       JSON ReadSetup                         answer once the bytes are here
 *   10 ADMIT      pair, key, address, lengthBytes        answer
 *   11 EVICT      key                                    answer; nothing is copied there any more
 *
 *   event         payload
 *    1 ACKED      channel, sequence: all targets have everything up to it
 *    2 LOST       JSON {channel, target, reason}: nothing is acknowledged until RESUME
 *    3 CAUGHT_UP  channel, target: it has what was appended before its REPLACE
 */
import type { QueuePairAddress } from '@rdmc/verbs';

export const PROTOCOL_NAME = 'tailwind';

export const Command = {
  PAIR: 1,
  CONNECT: 2,
  DROP: 3,
  CHANNEL: 4,
  APPEND: 5,
  REPLACE: 6,
  RESUME: 7,
  END: 8,
  READ: 9,
  ADMIT: 10,
  EVICT: 11,
} as const;

export const Event = { ACKED: 1, LOST: 2, CAUGHT_UP: 3 } as const;

/** One-sided writes, or the scheme they are compared with: the backup's processor copies and answers. */
export type ReplicationMode = 'one-sided' | 'rpc';

export interface PairSetup {
  readonly pair: number;
  readonly side: 'primary' | 'backup';
  readonly mode: ReplicationMode;
}

export interface PairConnect {
  readonly pair: number;
  readonly address: QueuePairAddress;
  readonly retryTimeoutMs: number;
}

/** Where a replica of a channel's segment is written. */
export interface TargetSetup {
  readonly target: number;
  readonly pair: number;
  readonly address: number;
  readonly rkey: number;
  /** In the RPC scheme. */
  readonly key: number;
}

export interface ChannelSetup {
  readonly channel: number;
  /** The segment's memory here. */
  readonly address: number;
  readonly lkey: number;
  readonly targets: readonly TargetSetup[];
}

export interface TargetReplacement {
  readonly channel: number;
  readonly lost: number;
  readonly target: TargetSetup;
}

export interface ReadSetup {
  readonly pair: number;
  readonly toAddress: number;
  readonly lkey: number;
  readonly fromAddress: number;
  readonly rkey: number;
  readonly lengthBytes: number;
}

export interface LostTarget {
  readonly channel: number;
  readonly target: number;
  readonly reason: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeNumbers(...numbers: number[]): Uint8Array {
  return new Uint8Array(Float64Array.from(numbers).buffer);
}

export function decodeNumbers(payload: Uint8Array): number[] {
  return [...new Float64Array(payload.slice().buffer)];
}

export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

export function decodeJson<T>(payload: Uint8Array): T {
  return JSON.parse(decoder.decode(payload)) as T;
}
