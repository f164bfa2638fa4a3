/** Records between the application's thread and the worker: commands with their answers, and events. */
import { call, json, numbers, post, recordTable } from '@rdmc/dataplane';
import type { QueuePairAddress, RemoteKey } from '@rdmc/verbs';

/** The data plane's name of the protocol. */
export const PROTOCOL_NAME = 'hipower';

/** `channel` is the number that this node gave the channel, and `peer` an index of the channel's peers. */
export const hiPowerRecords = recordTable({
  commands: {
    open: call(json<ChannelSetup>()),
    /** Closes an old queue pair and creates a new one. */
    createPair: call(json<PairOrder>(), json<PairAnswer>()),
    /** Answers with the transport, such as 'shm' or 'tcp'. */
    connect: call(json<ConnectOrder>(), json<string>()),
    /** Everything is connected. */
    start: call(numbers<[channel: number]>(1)),
    /** Closes all queue pairs and removes the channel. */
    close: call(numbers<[channel: number]>(1)),
    /** The responder has released everything, and its connection is not needed any longer. */
    dismiss: post(numbers<[channel: number, peer: number]>(2)),
    /** Look at the shared memory. */
    kick: post(numbers<[channel: number]>(1)),
  },
  events: {
    /** Look at the shared memory. */
    wake: numbers<[channel: number]>(1),
    trouble: json<Trouble>(),
  },
});
export type HiPowerRecords = typeof hiPowerRecords;

/** Channels of a node at one time. */
export const MAX_CHANNELS = 4096;

/** How the responder learns of new slots: it reads the requester's bitmap, or the requester writes it there. */
export type Mode = 'pull' | 'push';
/** How the requester learns that slots are free: by bitmaps, or one by one (the paper's baseline). */
export type Confirmation = 'bitmap' | 'per-request';
export type Role = 'requester' | 'responder';

/** The worker's description of a channel. */
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
  /** For traces: the first 4 bytes of the SHA-256 of the channel's name, and the ids of the peers. */
  readonly traced: { readonly channel: number; readonly peers: readonly number[] };
}

/** A responder's account of the slots of one requester: `RequesterMachine.resume` continues from it. */
export interface Account {
  readonly claimed: readonly number[];
  readonly released: readonly number[];
  readonly next: number;
}

export interface PairOrder {
  readonly channel: number;
  readonly peer: number;
  readonly generation: number;
}

export interface PairAnswer {
  readonly address: QueuePairAddress;
  readonly account: Account | null;
}

/** Memory of the peer: where its part of the pool and its boards begin. */
export interface RemoteMemory {
  readonly poolAddress: number;
  readonly poolRkey: RemoteKey;
  readonly boardsAddress: number;
  readonly boardsRkey: RemoteKey;
}

export interface ConnectOrder {
  readonly channel: number;
  readonly peer: number;
  readonly address: QueuePairAddress;
  readonly remote: RemoteMemory;
  readonly account: Account | null;
}

/** The reason why a channel's worker side stopped, or lost a connection. */
export interface Trouble {
  readonly channel: number;
  readonly peer: number;
  readonly generation: number;
  /** 'connection': its queue pair failed, and a new one may follow; 'violation': the peer violated the protocol. */
  readonly kind: 'connection' | 'violation';
  readonly code: string;
  readonly reason: string;
}
