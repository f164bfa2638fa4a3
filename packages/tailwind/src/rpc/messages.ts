import { remoteKey } from '@rdmc/verbs';
/**
 * What members ask a backup, as requests of the mesh under one topic. 64-bit numbers are decimal text, since JSON
 * has none.
 */
import { z } from 'zod';
import { MAX_SEGMENT_BYTES } from '../constants.js';

export const BACKUP_TOPIC = 'tailwind.backup';

const MAX_U64 = 0xffff_ffff_ffff_ffffn;

export const u64 = z
  .string()
  .regex(/^[0-9]{1,20}$/)
  .transform(BigInt)
  .refine((value) => value <= MAX_U64);
export const u32 = z.number().int().min(0).max(0xffff_ffff);
const bytes = z.number().int().min(0).max(MAX_SEGMENT_BYTES);
const address = z.looseObject({ kind: z.string(), version: z.number(), queuePair: z.number() });
const segment = { logId: u64, segmentId: u64 };
/** A random number of the object that writes a log. */
const session = z.string().regex(/^[0-9a-f]{32}$/);
const certificate = { byteLength: bytes, checksum: u32 };

export const backupRequest = z.discriminatedUnion('op', [
  /** Binds a log to the member that asks and to its object: nobody else may write it here. */
  z.strictObject({ op: z.literal('claim'), logId: u64, session }),
  /** The log could not be created: nothing in it counts. Frees what is here of it, and its id's claim. */
  z.strictObject({ op: z.literal('abandon'), logId: u64, session }),
  /** A queue pair for a log's appends, which claims it; or, without a session, for reading what is recovered. */
  z.strictObject({
    op: z.literal('connect'),
    logId: u64,
    session: session.nullable(),
    mode: z.enum(['one-sided', 'rpc']),
    address,
  }),
  /** Ends a queue pair, by the number that `connect` answered. */
  z.strictObject({ op: z.literal('disconnect'), pair: z.number().int() }),
  z.strictObject({
    op: z.literal('open'),
    ...segment,
    incarnation: u32,
    epoch: u32,
    segmentBytes: bytes,
    committed: z.boolean(),
    survivor: z.boolean(),
    /** In the RPC scheme: the connection's number, as `connect` answered. */
    pair: z.number().int().nullable(),
  }),
  z.strictObject({ op: z.literal('close'), ...segment, ...certificate }),
  z.strictObject({ op: z.literal('flushed'), ...segment }),
  z.strictObject({ op: z.literal('commit'), ...segment, epoch: u32, ...certificate }),
  /** Commits and closes a copy of a closed replica, in one step. */
  z.strictObject({ op: z.literal('restore'), ...segment, epoch: u32, ...certificate }),
  z.strictObject({ op: z.literal('epoch'), ...segment, epoch: u32 }),
  z.strictObject({ op: z.literal('free'), ...segment }),
  z.strictObject({ op: z.literal('free-log'), logId: u64 }),
  z.strictObject({ op: z.literal('inventory'), logId: u64 }),
  /** Asks for a replica's bytes, to be read with one-sided READs until `unload`. */
  z.strictObject({ op: z.literal('load'), ...segment }),
  z.strictObject({ op: z.literal('unload'), load: z.number().int() }),
]);
export type BackupRequest = z.output<typeof backupRequest>;

const scan = z.object({
  status: z.enum(['ok', 'corrupt']),
  offset: bytes,
  checksum: u32,
  reason: z.string(),
});

const rkey = u32.transform(remoteKey);

export const connectAnswer = z.object({ pair: z.number().int(), address });
export const grantAnswer = z.object({ address: z.number(), rkey, key: z.number().int() });
export const loadAnswer = z.object({ load: z.number().int(), address: z.number(), rkey, scan });
export const inventoryAnswer = z.array(
  z.object({
    segmentId: u64,
    incarnation: u32,
    epoch: u32,
    state: z.enum(['open', 'closed']),
    survivor: z.boolean(),
    byteLength: bytes,
    checksum: u32,
    scan: scan.nullable(),
    /** Base64 of the last digest's payload. */
    digest: z.base64().nullable(),
  }),
);
export type InventoryEntry = z.output<typeof inventoryAnswer>[number];
