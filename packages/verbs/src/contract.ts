/**
 * The contract of all devices with the layers above. Types only: `soft` and RDMA devices
 * (libibverbs) implement it in native code.
 */
import type { CompletionOpcodeName, OpcodeName, QueuePairStateName, StatusName } from './constants.js';

/** Transport of the soft device; RDMA devices have `roce` or `infiniband`. */
export type Transport = 'auto' | 'shm' | 'tcp';

/** Limits and abilities of an open device; lengths in bytes, depths in entries. */
export interface DeviceAttributes {
  /** Queue pairs that may exist at once. */
  readonly maxQueuePairs: number;
  /** Completion queues that may exist at once. */
  readonly maxCompletionQueues: number;
  /** Entries of a completion queue, at most. */
  readonly maxCompletionQueueDepth: number;
  /** Outstanding send requests of a queue pair, at most. */
  readonly maxSendDepth: number;
  /** Outstanding receive requests of a queue pair, at most. */
  readonly maxReceiveDepth: number;
  /** Scatter-gather entries of a work request, at most. */
  readonly maxSge: number;
  /** Bytes that a work request may carry itself, at most. */
  readonly maxInlineBytes: number;
  /** Length of one message, at most. */
  readonly maxMessageBytes: number;
  /** Memory regions that may exist at once. */
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
  /** Whether it has shared receive queues. */
  readonly sharedReceiveQueues: boolean;
  /** COMPARE_AND_SWAP and FETCH_AND_ADD. */
  readonly atomics: boolean;
  /** `registerDmabuf`. */
  readonly dmabuf: boolean;
  /**
   * `waitFor` of a send request: the device itself releases requests that wait for receives of other queue pairs. The soft
   * device does; RDMA devices do not, because rdma-core has no interface for the WAIT work requests of mlx5.
   */
  readonly waitFor: boolean;
  /**
   * `weight` of `ConnectOptions` has an effect on connections over a network: the soft device with `linkRate`. Over shared
   * memory it always has one.
   */
  readonly networkWeights: boolean;
}

/** The interface of a `Device` for its own objects. */
export interface OpenDevice {
  /** Identifies the device in calls of the addon. */
  readonly handle: number;
  /** Its limits and abilities. */
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
  /** Length in bytes. */
  readonly byteLength: number;
  /** The key of the region: `region.lkey`. */
  readonly lkey: LocalKey;
}

/** Target of a WRITE, READ or atomic at the peer: `region.remote(offset)` there. Plain JSON, to be sent by any means. */
export interface RemoteMemory {
  /** Virtual address in the peer's address space. */
  readonly address: number;
  /** The key of the peer's region: `region.rkey` there. */
  readonly rkey: RemoteKey;
}

/**
 * A condition of a send request: that so many receives of a queue pair have succeeded. Receives of SEND and of
 * WRITE_WITH_IMM count, from the queue pair's creation on; polled or not.
 */
export interface WaitCondition {
  /** A queue pair of the same device as the request's; it may be the request's own. A `QueuePair` is one. */
  readonly queuePair: { readonly number: number; readonly device: { readonly handle: number } };
  /** The number of successful receives, from 1 to 2^53 - 1. */
  readonly receives: number;
}

/** A work request for `postSend`, in its convenient form. */
export interface SendWorkRequest {
  /** Returned in the completion; a safe integer from 0. */
  readonly id: number;
  /** The operation. */
  readonly opcode: Exclude<OpcodeName, 'RECEIVE'>;
  /**
   * The local memory: source of a SEND or WRITE, target of a READ or atomic. Leave it alone until the completion.
   */
  readonly sges?: readonly ScatterGatherEntry[];
  /** Sent instead of `sges`, copied at posting: the bytes may be reused at once. */
  readonly inline?: Uint8Array;
  /** The peer's memory; WRITE, READ and atomics need it (ERR_RDMC_INVALID_OPTION). */
  readonly remote?: RemoteMemory;
  /** 32 bits, for the _WITH_IMM operations (default 0). */
  readonly immediate?: number;
  /** COMPARE_AND_SWAP: the value to compare with; FETCH_AND_ADD: the value to add (default 0). */
  readonly compareOrAdd?: bigint;
  /** COMPARE_AND_SWAP: the value to store (default 0). */
  readonly swap?: bigint;
  /** Produce a completion on success (default true). Failures always complete. */
  readonly signaled?: boolean;
  /** Wait for earlier READs and atomics of this queue pair. */
  readonly fence?: boolean;
  /** Cause an event at a receiver that waits for solicited completions only (default false). */
  readonly solicited?: boolean;
  /**
   * Execute the request only when all of these conditions hold, at most `Layout.MAX_WAITS`; the device does so, without the
   * application (default: none). Needs `attributes.waitFor`. The send queue is in order: later requests wait, too.
   * If a condition cannot hold any more because its queue pair has failed, this queue pair moves to the error state, and the
   * request completes with WORK_REQUEST_FLUSHED. Until the completion its regions cannot be closed
   * (ERR_RDMC_REGION_BUSY). With inline data: at most `Layout.MAX_INLINE_BYTES_OF_WAITING` bytes.
   *
   * Refused are ERR_RDMC_TOO_MANY_WAITS, ERR_RDMC_WAIT_UNKNOWN, ERR_RDMC_WAIT_BROKEN, ERR_RDMC_WAIT_CIRCLE.
   */
  readonly waitFor?: readonly WaitCondition[];
}

/** A work request for `postReceive`. */
export interface ReceiveWorkRequest {
  /** Returned in the completion; a safe integer from 0. */
  readonly id: number;
  /** Where the message goes; without it only empty messages fit. */
  readonly sges?: readonly ScatterGatherEntry[];
}

/** A completion in its convenient form. */
export interface WorkCompletion {
  /** The `id` of the work request. */
  readonly id: number;
  /** SUCCESS, or why it failed. */
  readonly status: StatusName;
  /** The completed operation. */
  readonly opcode: CompletionOpcodeName;
  /** Bytes received (receive side) or moved (READ, atomics); undefined content unless status is SUCCESS. */
  readonly byteLength: number;
  /** The sender's immediate, 32 bits; undefined if the message does not have one. */
  readonly immediate: number | undefined;
  /** Number of the queue pair: `QueuePair.number`. */
  readonly queuePair: number;
}

/**
 * The address of a queue pair: plain JSON, to be sent to the other side by any means.
 * Opaque to the layers above, which only pass it to `connect`.
 */
export interface QueuePairAddress {
  /** The kind of device; both sides must be of one kind. */
  readonly kind: string;
  /** Version of this address and of the device's protocol. */
  readonly version: number;
  /** Number of the queue pair. */
  readonly queuePair: number;
  readonly [field: string]: string | number | null;
}

/** The options of `protectionDomain.createQueuePair`. */
export interface QueuePairOptions {
  /** The completion queue of its send requests, of the same device. A `CompletionQueue` is one. */
  readonly sendQueue: { readonly handle: number; readonly device: { readonly handle: number } };
  /** The completion queue of its receives, of the same device; it may be the same one. */
  readonly receiveQueue: { readonly handle: number; readonly device: { readonly handle: number } };
  /** Outstanding send requests (default 64). */
  readonly sendDepth?: number;
  /** Outstanding receive requests (default 64). */
  readonly receiveDepth?: number;
  /** Every send request produces a completion, signalled or not (default false). */
  readonly signalAll?: boolean;
  /** Receives come from this queue of the same device instead of one of the queue pair's own; `receiveDepth` is ignored then. */
  readonly sharedReceiveQueue?: { readonly number: number; readonly device: { readonly handle: number } };
}

/** A queue pair's attributes, as its device returns them; they depend on the device. */
export interface QueuePairAttributes {
  /** Its state. */
  readonly state: QueuePairStateName;
  readonly [name: string]: number | string;
}

/** The options of `queuePair.connect`. */
export interface ConnectOptions {
  /** 0 to 6: retries for a receiver that is not ready; 7: for ever (default). */
  readonly rnrRetries?: number;
  /** Wait between two such attempts, in milliseconds (default 10, range 1 to 655). */
  readonly rnrTimerMs?: number;
  /** How long requests to an unreachable peer are retried before RETRY_EXCEEDED, in milliseconds (default 2000). */
  readonly retryTimeoutMs?: number;
  /**
   * Turns that this queue pair's requests have while those of other queue pairs of the device wait, where those have one:
   * 1 (default) to 16. The soft device's: over shared memory, and over TCP on a link with `linkRate`; without one the system
   * shares the network among the connections. RDMA devices have no weights; their ports have queues for service levels.
   */
  readonly weight?: number;
  /**
   * The traffic class of its packets, 0 (default) to 255: IP's TOS or traffic class byte, so 4 times the code point of
   * differentiated services (RFC 2474). RDMA devices: of RoCE and of InfiniBand between subnets. The soft device: of
   * TCP, whose two bits of congestion notification stay the system's; no effect over shared memory.
   */
  readonly trafficClass?: number;
  /**
   * The service level of its packets, 0 (default) to 15 (IBA 7.6.5); on RoCE 0 to 7, the priority of Ethernet frames with a
   * VLAN. RDMA devices; no effect on the soft device.
   */
  readonly serviceLevel?: number;
}

export type { CompletionOpcodeName, OpcodeName, QueuePairStateName, StatusName };
