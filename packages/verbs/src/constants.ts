/**
 * Numbers shared with the native core (native/core/constants.h). A test compares the
 * two: the addon exports its own copy as `constants`.
 *
 * A work request occupies a 256-byte slot of the submission batch, little endian:
 * ```
 *   0 u32 opcode        4 u32 queue pair     8 u32 flags      12 u32 sge count (or inline length)
 *  16 u32 id low       20 u32 id high       24 u32 immediate  28 u32 rkey
 *  32 u32 remote low   36 u32 remote high   40 u32 compare/add low   44 u32 high
 *  48 u32 swap low     52 u32 high          56 u32 result (written by the device, 0 = accepted)   60 u32 wait count
 *  64 sge[4] of { u32 address low, u32 address high, u32 length, u32 lkey }, or up to 192 inline bytes
 * 192 with WAIT_FOR: wait[4] of { u32 queue pair, u32 0, u32 receives low, u32 high }; then at most 128 inline bytes
 * ```
 * A completion occupies a 32-byte slot of the poll batch:
 * ```
 *   0 u32 id low   4 u32 id high   8 u32 status   12 u32 opcode
 *  16 u32 bytes   20 u32 immediate   24 u32 queue pair   28 u32 flags
 * ```
 */
export const Layout = {
  WORK_REQUEST_BYTES: 256,
  WORK_REQUEST_WORDS: 64,
  BATCH_SLOTS: 256,
  COMPLETION_BYTES: 32,
  COMPLETION_WORDS: 8,
  POLL_SLOTS: 256,
  MAX_SGE: 4,
  MAX_INLINE_BYTES: 192,
  MAX_WAITS: 4,
  MAX_INLINE_BYTES_OF_WAITING: 128,
} as const;

/** Word offsets inside a work request slot. */
export const Word = {
  OPCODE: 0,
  QUEUE_PAIR: 1,
  FLAGS: 2,
  SGE_COUNT: 3,
  ID_LOW: 4,
  ID_HIGH: 5,
  IMMEDIATE: 6,
  RKEY: 7,
  REMOTE_LOW: 8,
  REMOTE_HIGH: 9,
  COMPARE_LOW: 10,
  COMPARE_HIGH: 11,
  SWAP_LOW: 12,
  SWAP_HIGH: 13,
  RESULT: 14,
  WAIT_COUNT: 15,
  SGE: 16,
  WAITS: 48,
} as const;

/** Word offsets inside a completion slot. */
export const CompletionWord = {
  ID_LOW: 0,
  ID_HIGH: 1,
  STATUS: 2,
  OPCODE: 3,
  BYTES: 4,
  IMMEDIATE: 5,
  QUEUE_PAIR: 6,
  FLAGS: 7,
} as const;

/** Operations of a work request; RECEIVE is posted to the receive queue. */
export const Opcode = {
  SEND: 0,
  SEND_WITH_IMM: 1,
  WRITE: 2,
  WRITE_WITH_IMM: 3,
  READ: 4,
  COMPARE_AND_SWAP: 5,
  FETCH_AND_ADD: 6,
  RECEIVE: 7,
} as const;
/** Name of an operation: a key of {@link Opcode}. */
export type OpcodeName = keyof typeof Opcode;

/** The operation that a completion reports (IBA 11.4.2.1). */
export const CompletionOpcode = {
  SEND: 0,
  WRITE: 1,
  READ: 2,
  COMPARE_AND_SWAP: 3,
  FETCH_AND_ADD: 4,
  RECEIVE: 128,
  RECEIVE_WRITE_WITH_IMM: 129,
} as const;
/** Name of a completed operation: a key of {@link CompletionOpcode}. */
export type CompletionOpcodeName = keyof typeof CompletionOpcode;

/** Bits of a work request's flags word on the fast path. */
export const WorkRequestFlag = { SIGNALED: 1, INLINE: 2, FENCE: 4, SOLICITED: 8, WAIT_FOR: 16 } as const;
/** Bits of a completion's flags word on the fast path. */
export const CompletionFlag = { WITH_IMMEDIATE: 1 } as const;

/** Completion status, numbered as in `enum ibv_wc_status`. */
export const Status = {
  SUCCESS: 0,
  LOCAL_LENGTH_ERROR: 1,
  LOCAL_QP_OPERATION_ERROR: 2,
  LOCAL_PROTECTION_ERROR: 4,
  WORK_REQUEST_FLUSHED: 5,
  BAD_RESPONSE: 7,
  LOCAL_ACCESS_ERROR: 8,
  REMOTE_INVALID_REQUEST: 9,
  REMOTE_ACCESS_ERROR: 10,
  REMOTE_OPERATION_ERROR: 11,
  RETRY_EXCEEDED: 12,
  RNR_RETRY_EXCEEDED: 13,
  FATAL: 19,
  RESPONSE_TIMEOUT: 20,
  GENERAL_ERROR: 21,
} as const;
/** Name of a completion's status: a key of {@link Status}. */
export type StatusName = keyof typeof Status;

/** Access rights of a memory region, numbered as in `enum ibv_access_flags`. */
export const Access = {
  LOCAL_WRITE: 1,
  REMOTE_WRITE: 2,
  REMOTE_READ: 4,
  REMOTE_ATOMIC: 8,
  RELAXED_ORDERING: 1_048_576,
} as const;

/** Queue pair states, numbered as in `enum ibv_qp_state`. */
export const QueuePairState = { RESET: 0, INIT: 1, RTR: 2, RTS: 3, ERROR: 6 } as const;
/** Name of a queue pair's state: a key of {@link QueuePairState}. */
export type QueuePairStateName = keyof typeof QueuePairState;

/** Why a device refused a work request at posting; `Word.RESULT` of its slot. */
export const PostResult = {
  ACCEPTED: 0,
  UNKNOWN_QUEUE_PAIR: 1,
  WRONG_STATE: 2,
  QUEUE_FULL: 3,
  TOO_MANY_SGES: 4,
  INVALID_LKEY: 5,
  OUT_OF_BOUNDS: 6,
  INLINE_TOO_LONG: 7,
  UNKNOWN_OPCODE: 8,
  MISALIGNED_ATOMIC: 9,
  NOT_SHAREABLE: 10,
  ACCESS_DENIED: 11,
  MESSAGE_TOO_LONG: 12,
  DEVICE_REFUSED: 13,
  DEVICE_REMOVED: 14,
  UNSUPPORTED_OPERATION: 15,
  TOO_MANY_WAITS: 16,
  UNKNOWN_WAIT: 17,
  BROKEN_WAIT: 18,
  WAIT_CIRCLE: 19,
} as const;
