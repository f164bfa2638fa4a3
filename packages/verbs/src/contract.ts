/**
 * The contract of all devices with the layers above. Types only: `soft` and RDMA devices
 * (libibverbs) implement it in native code.
 */
import type { CompletionOpcodeName, OpcodeName, QueuePairStateName, StatusName } from './constants.js';

/** Transport of the soft device; RDMA devices have `roce` or `infiniband`. */
export type Transport = 'auto' | 'shm' | 'tcp';

/** Limits and abilities of an open device; lengths in bytes, depths in entries. */
export interface DeviceAttributes {
  readonly maxQueuePairs: number;
  readonly maxCompletionQueues: number;
  readonly maxCompletionQueueDepth: number;
  readonly maxSendDepth: number;
  readonly maxReceiveDepth: number;
  readonly maxSge: number;
  readonly maxInlineBytes: number;
  readonly maxMessageBytes: number;
  readonly maxRegions: number;
  /** WRITE places bytes in increasing address order, in aligned units of this many bytes; 0: no guarantee. */
  readonly writeOrderUnitBytes: number;
  /**
   * A reader that sees a WRITE's bytes sees those of all earlier WRITEs of the same queue pair. An RDMA device guarantees it if
   * `queryDataInOrder` does (queried of one queue pair when the device is opened). Without it: wait for the earlier
   * WRITE's completion, or announce both by a message.
   */
  readonly ordersWrites: boolean;
  /** Memory from `register` may be the target of other processes. */
  readonly registeredMemoryIsRemote: boolean;
  readonly sharedReceiveQueues: boolean;
  /** COMPARE_AND_SWAP and FETCH_AND_ADD. */
  readonly atomics: boolean;
  /** `registerDmabuf`. */
  readonly dmabuf: boolean;
}

/** The interface of a `Device` for its own objects. */
export interface OpenDevice {
  readonly handle: number;
  readonly attributes: DeviceAttributes;
}

declare const local: unique symbol;
declare const remote: unique symbol;

/**
 * Identifies a region in this device's own requests (verbs: lkey); `region.lkey`. At run time a number of 32 bits; the brand
 * prevents that a length or an address is passed instead.
 */
export type LocalKey = number & { readonly [local]: true };

/** Identifies a region in requests of peers (verbs: rkey); `region.rkey`. For a number that a peer sent: `remoteKey(number)`. */
export type RemoteKey = number & { readonly [remote]: true };

/** A part of registered memory, in the order of verbs' `ibv_sge`. */
export interface ScatterGatherEntry {
  /** Virtual address in the owner's address space: `region.address + offset`. A safe integer. */
  readonly address: number;
  readonly byteLength: number;
  readonly lkey: LocalKey;
}

/** Target of a WRITE, READ or atomic at the peer: `region.remote(offset)` there. Plain JSON, to be sent by any means. */
export interface RemoteMemory {
  readonly address: number;
  readonly rkey: RemoteKey;
}

/** A work request for `postSend`, in its convenient form. */
export interface SendWorkRequest {
  /** Returned in the completion; a safe integer from 0. */
  readonly id: number;
  readonly opcode: Exclude<OpcodeName, 'RECEIVE'>;
  readonly sges?: readonly ScatterGatherEntry[];
  /** Sent instead of `sges`, copied at posting: the bytes may be reused at once. */
  readonly inline?: Uint8Array;
  readonly remote?: RemoteMemory;
  /** 32 bits, for the _WITH_IMM operations. */
  readonly immediate?: number;
  /** COMPARE_AND_SWAP: the value to compare with; FETCH_AND_ADD: the value to add. */
  readonly compareOrAdd?: bigint;
  readonly swap?: bigint;
  /** Produce a completion on success (default true). Failures always complete. */
  readonly signaled?: boolean;
  /** Wait for earlier READs and atomics of this queue pair. */
  readonly fence?: boolean;
  readonly solicited?: boolean;
}

export interface ReceiveWorkRequest {
  readonly id: number;
  readonly sges?: readonly ScatterGatherEntry[];
}

/** A completion in its convenient form. */
export interface WorkCompletion {
  readonly id: number;
  readonly status: StatusName;
  readonly opcode: CompletionOpcodeName;
  /** Bytes received (receive side) or moved (READ, atomics); undefined content unless status is SUCCESS. */
  readonly byteLength: number;
  readonly immediate: number | undefined;
  readonly queuePair: number;
}

/**
 * The address of a queue pair: plain JSON, to be sent to the other side by any means.
 * Opaque to the layers above, which only pass it to `connect`.
 */
export interface QueuePairAddress {
  readonly kind: string;
  readonly version: number;
  readonly queuePair: number;
  readonly [field: string]: string | number | null;
}

export interface QueuePairOptions {
  readonly sendQueue: { readonly handle: number };
  readonly receiveQueue: { readonly handle: number };
  /** Outstanding send requests (default 64). */
  readonly sendDepth?: number;
  /** Outstanding receive requests (default 64). */
  readonly receiveDepth?: number;
  /** Every send request produces a completion, signalled or not (default false). */
  readonly signalAll?: boolean;
  /** Receives come from this queue instead of one of the queue pair's own; `receiveDepth` is ignored then. */
  readonly sharedReceiveQueue?: { readonly number: number };
}

/** A queue pair's attributes, as its device returns them; they depend on the device. */
export interface QueuePairAttributes {
  readonly state: QueuePairStateName;
  readonly [name: string]: number | string;
}

export interface ConnectOptions {
  /** 0 to 6: retries for a receiver that is not ready; 7: for ever (default). */
  readonly rnrRetries?: number;
  /** Wait between two such attempts, in milliseconds (default 10, range 1 to 655). */
  readonly rnrTimerMs?: number;
  /** How long requests to an unreachable peer are retried before RETRY_EXCEEDED, in milliseconds (default 2000). */
  readonly retryTimeoutMs?: number;
}

export type { CompletionOpcodeName, OpcodeName, QueuePairStateName, StatusName };
