/** What crosses between the application's thread and the worker: commands with their answers, and events. */
import type { QueuePairAddress } from '@rdmc/verbs';

/** Under this name the data plane runs the protocol. */
export const PROTOCOL_NAME = 'hipower';

export const Command = {
  /** ChannelSetup. */
  OPEN: 0,
  /** { channel, peer, generation } → PairAnswer: tears down an old queue pair and makes a new one. */
  PAIR: 1,
  /** ConnectOrder → the transport. */
  CONNECT: 2,
  /** { channel }: everything is connected. */
  START: 3,
  /** { channel }: tears down all queue pairs and forgets the channel. */
  CLOSE: 4,
  /** { channel, peer }, as a post: the responder has released everything, and its connection is not needed any more. */
  DISMISS: 5,
  /** KICK + number of the channel, as a post without payload: look at the shared memory. */
  KICK: 256,
} as const;

export const Event = {
  /** Trouble. */
  TROUBLE: 0,
  /** WAKE + number of the channel, without payload: look at the shared memory. */
  WAKE: 256,
} as const;

/** Channels of a node at one time. */
export const MAX_CHANNELS = 4096;

export type Mode = 'pull' | 'push';
export type Confirmation = 'bitmap' | 'per-request';
export type Role = 'requester' | 'responder';

/** What the worker needs to take part in a channel. */
export interface ChannelSetup {
  readonly channel: number;
  readonly role: Role;
  readonly peers: number;
  readonly slots: number;
  readonly slotBytes: number;
  readonly mode: Mode;
  readonly confirmation: Confirmation;
  /** Free (requester) or unread (responder) slots at which it reads the bitmap again. */
  readonly refreshLimit: number;
  readonly spinMs: number;
  readonly maxIdleMs: number;
  readonly pushAfterCompletion: boolean;
  readonly retryTimeoutMs: number;
  /** Handles of regions. */
  readonly memory: number;
  readonly pool: number;
  readonly boards: number;
}

/** What a responder did with the slots of one requester: `RequesterMachine.resume` goes on from it. */
export interface Account {
  readonly claimed: readonly number[];
  readonly released: readonly number[];
  readonly next: number;
}

export interface PairAnswer {
  readonly address: QueuePairAddress;
  readonly account: Account | null;
}

/** Memory of the peer: where its part of the pool and its boards begin. */
export interface RemoteMemory {
  readonly poolAddress: number;
  readonly poolRkey: number;
  readonly boardsAddress: number;
  readonly boardsRkey: number;
}

export interface ConnectOrder {
  readonly channel: number;
  readonly peer: number;
  readonly address: QueuePairAddress;
  readonly remote: RemoteMemory;
  readonly account: Account | null;
}

/** Why a channel's worker side stopped, or lost a connection. */
export interface Trouble {
  readonly channel: number;
  readonly peer: number;
  readonly generation: number;
  /** 'connection': its queue pair broke, and a new one may follow; 'violation': the peer broke the rules. */
  readonly kind: 'connection' | 'violation';
  readonly code: string;
  readonly reason: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

export function decodeJson<T>(payload: Uint8Array): T {
  return JSON.parse(decoder.decode(payload)) as T;
}
