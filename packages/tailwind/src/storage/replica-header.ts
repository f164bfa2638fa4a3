/**
 * The first 4096 bytes of a replica's file; the segment's bytes follow. Little endian.
 *
 * ```
 *    0  8 bytes  magic: "rdmc-twr"
 *    8  u32      version of this layout and of the log format: the level of the cluster when the file was written
 *   12  u32      bytes of this header: 4096
 *   16  16 bytes cluster id, a UUID
 *   32  u64      logId
 *   40  u64      segmentId
 *   48  u32      incarnation
 *   52  u32      epoch of the replica
 *   56  u32      state: 1 open (a buffer dumped whole), 2 closed
 *   60  u32      closed: the certificate's checksum; else 0
 *   64  u64      bytes of data that follow; closed: the certificate's length
 *   72  u64      floor: open and shorter than this, it is corrupt
 *   80  u32      size of the segment in bytes
 *   84  u32      1 once recovery may use it; 0 for a replacement that was not committed
 *   88  u32      1 for a survivor of cleaning, which is never the log's head; else 0
 *   92           zeros
 * 4092  u32      CRC-32 of the 4092 bytes before; here in every version, so that a damaged header is told from a foreign one
 * ```
 */
import { FIRST_LEVEL, ownLevels } from '@rdmc/common';
import { TailwindError } from '../errors.js';
import { crc32 } from '../format/crc32.js';
import { readU32, readU64, type SegmentIdentity, writeU32, writeU64 } from '../format/layout.js';

export const REPLICA_HEADER_BYTES = 4096;
const MAGIC = Buffer.from('rdmc-twr', 'latin1');
const STATES = [undefined, 'open', 'closed'] as const;

const At = {
  VERSION: 8,
  HEADER_BYTES: 12,
  CLUSTER: 16,
  LOG: 32,
  SEGMENT: 40,
  INCARNATION: 48,
  EPOCH: 52,
  STATE: 56,
  CHECKSUM: 60,
  LENGTH: 64,
  FLOOR: 72,
  SEGMENT_BYTES: 80,
  COMMITTED: 84,
  SURVIVOR: 88,
  CRC: 4092,
} as const;

/** Properties of a replica beside its bytes. */
export interface ReplicaRecord extends SegmentIdentity {
  /** The primary's epoch for this segment when the replica was opened, or set later. */
  readonly epoch: number;
  /** 'closed': the primary has certified it; 'open': it was being written. */
  readonly state: 'open' | 'closed';
  /** Closed: values of its certificate. Open: 0 and the size of the buffer. */
  readonly checksum: number;
  /** Closed: length of the certified data. Open: size of the buffer. */
  readonly byteLength: number;
  /** At least so many bytes were acknowledged: a replica with fewer is damaged. */
  readonly floorBytes: number;
  /** Size of the segment, in bytes. */
  readonly segmentBytes: number;
  /** False for a replacement that recovery must not see yet. */
  readonly committed: boolean;
  /** True for a segment of the cleaner: its number does not count in the search for the head. */
  readonly survivor: boolean;
}

/** @param level of the cluster: programs that speak it read the file */
export function encodeReplicaHeader(clusterId: string, record: ReplicaRecord, level: number): Uint8Array {
  const bytes = new Uint8Array(REPLICA_HEADER_BYTES);
  bytes.set(MAGIC, 0);
  writeU32(bytes, At.VERSION, level);
  writeU32(bytes, At.HEADER_BYTES, REPLICA_HEADER_BYTES);
  bytes.set(uuidBytes(clusterId), At.CLUSTER);
  writeU64(bytes, At.LOG, record.logId);
  writeU64(bytes, At.SEGMENT, record.segmentId);
  writeU32(bytes, At.INCARNATION, record.incarnation);
  writeU32(bytes, At.EPOCH, record.epoch);
  writeU32(bytes, At.STATE, STATES.indexOf(record.state));
  writeU32(bytes, At.CHECKSUM, record.checksum);
  writeU64(bytes, At.LENGTH, BigInt(record.byteLength));
  writeU64(bytes, At.FLOOR, BigInt(record.floorBytes));
  writeU32(bytes, At.SEGMENT_BYTES, record.segmentBytes);
  writeU32(bytes, At.COMMITTED, record.committed ? 1 : 0);
  writeU32(bytes, At.SURVIVOR, record.survivor ? 1 : 0);
  writeU32(bytes, At.CRC, crc32(bytes, 0, At.CRC, 0));
  return bytes;
}

/** Whether a file that begins with these bytes claims to be a replica. */
export function isReplicaFile(bytes: Uint8Array): boolean {
  return bytes.length >= MAGIC.length && MAGIC.equals(bytes.subarray(0, MAGIC.length));
}

/**
 * Reads the header of any level up to the highest of this process: a file may be older than the lowest.
 * @param name name of the file in errors
 * @param most the highest level of this process
 * @throws TailwindError ERR_RDMC_REPLICA_FOREIGN_FILE, ERR_RDMC_REPLICA_FOREIGN_VERSION, ERR_RDMC_REPLICA_DAMAGED
 */
export function decodeReplicaHeader(
  bytes: Uint8Array,
  name: string,
  most = ownLevels().most,
): { clusterId: string; record: ReplicaRecord } {
  if (!isReplicaFile(bytes)) {
    throw new TailwindError('ERR_RDMC_REPLICA_FOREIGN_FILE', `${name} is not a replica of a log segment`);
  }
  if (bytes.length < REPLICA_HEADER_BYTES) throw damaged(name, `only ${bytes.length} bytes long`);
  const isWhole = crc32(bytes, 0, At.CRC, 0) === readU32(bytes, At.CRC);
  const version = readU32(bytes, At.VERSION);
  if (!isWhole) throw damaged(name, "its header's checksum does not match");
  if (version < FIRST_LEVEL || version > most) {
    throw new TailwindError(
      'ERR_RDMC_REPLICA_FOREIGN_VERSION',
      `${name} has format version ${version}; this program reads versions up to ${most}`,
    );
  }
  const state = STATES[readU32(bytes, At.STATE)];
  const record = {
    logId: readU64(bytes, At.LOG),
    segmentId: readU64(bytes, At.SEGMENT),
    incarnation: readU32(bytes, At.INCARNATION),
    epoch: readU32(bytes, At.EPOCH),
    checksum: readU32(bytes, At.CHECKSUM),
    byteLength: Number(readU64(bytes, At.LENGTH)),
    floorBytes: Number(readU64(bytes, At.FLOOR)),
    segmentBytes: readU32(bytes, At.SEGMENT_BYTES),
    committed: readU32(bytes, At.COMMITTED) === 1,
    survivor: readU32(bytes, At.SURVIVOR) === 1,
  };
  if (state === undefined || record.byteLength > record.segmentBytes) {
    throw damaged(name, 'its header contradicts itself');
  }
  return { clusterId: uuidText(bytes.subarray(At.CLUSTER, At.CLUSTER + 16)), record: { ...record, state } };
}

function damaged(name: string, how: string): TailwindError {
  return new TailwindError('ERR_RDMC_REPLICA_DAMAGED', `${name} is damaged: ${how}`);
}

function uuidBytes(uuid: string): Uint8Array {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
