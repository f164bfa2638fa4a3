/**
 * The messages of the RPC scheme, little endian. One SEND carries a part of an append; one SEND answers it.
 *
 * ```
 * request   0              4              8              12
 *           ├──────────────┼──────────────┼──────────────┼────────────────
 *           │ key u32      │ offset u32   │ length u32   │ data, at most 64 KiB
 *
 * answer    0              4
 *           ├──────────────┤
 *           │ status u32   │      0: copied
 * ```
 */
import { RPC_DATA_BYTES, RPC_WINDOW } from '../constants.js';

export const RPC_HEADER_BYTES = 12;
export const RPC_REQUEST_BYTES = RPC_HEADER_BYTES + RPC_DATA_BYTES;
/** Distance of two receive buffers: a multiple of a cache line. */
export const RPC_SLOT_BYTES = Math.ceil(RPC_REQUEST_BYTES / 64) * 64;
export const RPC_ANSWER_BYTES = 4;
export const RPC_HEADER_SLOT_BYTES = 16;

/** A primary's memory for a pair: headers to send, then answers to receive. */
export const RPC_PRIMARY_BYTES = RPC_WINDOW * 2 * RPC_HEADER_SLOT_BYTES;
/** A backup's memory for a pair: requests to receive. */
export const RPC_BACKUP_BYTES = RPC_WINDOW * RPC_SLOT_BYTES;

export const RpcStatus = { COPIED: 0, NO_SUCH_BUFFER: 1, OUT_OF_BOUNDS: 2 } as const;
