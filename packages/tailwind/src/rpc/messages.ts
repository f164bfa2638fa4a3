/**
 * Requests of members to a backup, sent over the mesh under one topic. 64-bit numbers are decimal text, since JSON does
 * not have them.
 */
import {
  choice,
  finite,
  flag,
  list,
  mapped,
  nullable,
  opaqueRecord,
  openRecord,
  pattern,
  type Shaped,
  text,
  tuple,
  variants,
  whole,
  withDefault,
} from '@rdmc/common/shapes';
import { remoteKey } from '@rdmc/verbs';
import { MAX_SEGMENT_BYTES, MAX_SLOTS } from '../constants.js';

export const BACKUP_TOPIC = 'tailwind.backup';

const MAX_U64 = 0xffff_ffff_ffff_ffffn;

export const u64 = mapped(pattern(/^[0-9]{1,20}$/), (digits) => {
  const value = BigInt(digits);
  if (value > MAX_U64) throw new Error('needed at most 2^64 - 1');
  return value;
});
export const u32 = whole(0, 0xffff_ffff);
const bytes = whole(0, MAX_SEGMENT_BYTES);
const address = opaqueRecord({ kind: text(), version: finite(), queuePair: finite() });
const segment = { logId: u64, segmentId: u64 };
/** A random number that identifies the object that writes a log. */
const session = pattern(/^[0-9a-f]{32}$/);
const certificate = { byteLength: bytes, checksum: u32 };

export const backupRequest = variants(
  'op',
  {
    /**
     * Binds a log to the requesting member and its log object: no other one may write it here. `resumes`: the log is being
     * written, and this backup may have replicas of it from before it was lost.
     */
    claim: { logId: u64, session, resumes: withDefault(flag, false) },
    /** The log could not be created, and is empty. Frees its replicas here, and the claim of its id. */
    abandon: { logId: u64, session },
    /** Creates a queue pair for a log's appends, and claims the log. Without a session, it is for a recovery. */
    connect: {
      logId: u64,
      session: nullable(session),
      resumes: withDefault(flag, false),
      mode: choice(['one-sided', 'rpc']),
      address,
    },
    /** Ends the queue pair with this number, from the answer to `connect`. */
    disconnect: { pair: whole() },
    open: {
      ...segment,
      incarnation: u32,
      epoch: u32,
      segmentBytes: bytes,
      committed: flag,
      survivor: flag,
      /** In the RPC scheme: the connection's number, from the answer to `connect`. */
      pair: nullable(whole()),
    },
    close: { ...segment, ...certificate },
    flushed: { ...segment },
    commit: { ...segment, epoch: u32, ...certificate },
    /** Commits and closes a copy of a closed replica, in one step. */
    restore: { ...segment, epoch: u32, ...certificate },
    /** A closed replica that this backup had when it was lost counts again. Refused unless it is complete. */
    retake: { ...segment, ...certificate },
    epoch: { ...segment, epoch: u32 },
    free: { ...segment },
    /** The segments of which this backup has a replica: for the log's primary. */
    replicas: { logId: u64 },
    'free-log': { logId: u64 },
    /** The attempt's number is the coordinator's; what was given to earlier ones ends. */
    inventory: { logId: u64, attempt: u32 },
    /** Loads a replica's bytes into memory, for one-sided READs until `unload`. */
    load: { ...segment },
    unload: { load: whole() },
    /** The leader's plan: the heirs, the part of each range of slots, and the segments that this backup may be asked for. */
    divide: {
      logId: u64,
      attempt: u32,
      heirs: list(whole()),
      ranges: list(tuple(whole(0, MAX_SLOTS - 1), whole(0, MAX_SLOTS - 1), whole(0))),
      segments: list(openRecord({ segmentId: u64, byteLength: bytes, checksum: nullable(u32) })),
    },
    /** An heir asks for its part of a segment, for a one-sided READ until `read`. */
    part: { ...segment, attempt: u32 },
    /** An heir has its part. */
    read: { ...segment, attempt: u32 },
  },
  openRecord,
);
export type BackupRequest = Shaped<typeof backupRequest>;

/** The form that `Buffer` writes. */
const base64 = pattern(/^[A-Za-z0-9+/]*={0,2}$/, 'Base64');

const scan = openRecord({
  status: choice(['ok', 'corrupt']),
  offset: bytes,
  checksum: u32,
  reason: text(),
});

const rkey = mapped(u32, remoteKey);

export const connectAnswer = openRecord({ pair: whole(), address });
export const replicasAnswer = list(u64);
export const grantAnswer = openRecord({ address: finite(), rkey, key: whole() });
export const loadAnswer = openRecord({ load: whole(), address: finite(), rkey, scan });
/** A part without a byte has no memory. */
export const partAnswer = openRecord({ address: finite(), rkey, byteLength: bytes });
export const inventoryAnswer = list(
  openRecord({
    segmentId: u64,
    incarnation: u32,
    epoch: u32,
    state: choice(['open', 'closed']),
    survivor: flag,
    byteLength: bytes,
    checksum: u32,
    scan: nullable(scan),
    /** Base64 of the last digest's payload. */
    digest: nullable(base64),
  }),
);
/** A replica in a backup's report to a recovery. */
export type InventoryEntry = Shaped<typeof inventoryAnswer>[number];
