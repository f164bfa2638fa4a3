import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FileStoreLock } from '../coordinator/file-store-lock.js';
import { messageOf, TailwindError } from '../errors.js';
import { EntryType } from '../format/layout.js';
import { type ScanResult, scanSegment, segmentEntries } from '../format/scan.js';
import { decodeReplicaHeader, REPLICA_HEADER_BYTES, type ReplicaRecord } from '../storage/replica-header.js';
import {
  type DamagedFile,
  REPLICA_LOCK_NAME,
  REPLICA_SUFFIX,
  requireMatchingFile,
} from '../storage/replica-store.js';

/** A replica found in a backup's directory. */
export interface ReplicaFile {
  /** Path of the file. */
  readonly path: string;
  /** The replica's properties, from its header. */
  readonly record: ReplicaRecord;
  /** The intact part. A closed replica that does not match its certificate may still have an intact prefix. */
  readonly scan: ScanResult;
  /** The payload of the last log digest in it. */
  readonly digest: Uint8Array | undefined;
}

/** Contents of one backup's directory. */
export interface ReplicaDirectory {
  /** Path of the directory. */
  readonly directory: string;
  /** The replicas in it. */
  readonly files: readonly ReplicaFile[];
  /** Files that a backup would not use either. */
  readonly damaged: readonly DamagedFile[];
}

/**
 * Reads a backup's directory without its backup, and does not change it. Holds one file in memory at a time. Lock the
 * directory first.
 * @throws TailwindError ERR_RDMC_REPLICA_FOREIGN_CLUSTER, ERR_RDMC_REPLICA_FOREIGN_VERSION; errors of the file system
 */
export async function readReplicaDirectory(directory: string, clusterId: string): Promise<ReplicaDirectory> {
  const files: ReplicaFile[] = [];
  const damaged: DamagedFile[] = [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(REPLICA_SUFFIX));
  for (const name of names.sort()) {
    const path = join(directory, name);
    try {
      files.push(await readReplica(path, clusterId));
    } catch (error) {
      const { code } = error as TailwindError;
      if (code !== 'ERR_RDMC_REPLICA_DAMAGED' && code !== 'ERR_RDMC_REPLICA_FOREIGN_FILE') throw error;
      damaged.push({ path, code, message: messageOf(error) });
    }
  }
  return { directory, files, damaged };
}

/** The bytes of a replica's segment, up to the end of the intact part. */
export async function readWhole({ path, scan }: ReplicaFile): Promise<Uint8Array> {
  const content = await readFile(path);
  return content.subarray(REPLICA_HEADER_BYTES, REPLICA_HEADER_BYTES + scan.offset);
}

/**
 * Keeps backups and other salvages out of a directory until the lock is disposed of. Writes one file there.
 * @throws TailwindError ERR_RDMC_STATE_LOCKED: another one uses the directory; errors of the file system
 */
export async function lockReplicaDirectory(directory: string): Promise<AsyncDisposable> {
  const lock = await FileStoreLock.take(join(directory, REPLICA_LOCK_NAME));
  return { [Symbol.asyncDispose]: () => lock.release() };
}

async function readReplica(path: string, clusterId: string): Promise<ReplicaFile> {
  const content = await readFile(path);
  const { clusterId: theirs, record } = decodeReplicaHeader(content, path);
  if (theirs !== clusterId) {
    throw new TailwindError(
      'ERR_RDMC_REPLICA_FOREIGN_CLUSTER',
      `${path} belongs to cluster ${theirs}, and this is cluster ${clusterId}`,
    );
  }
  requireMatchingFile(path, content.length, record);
  const { logId, segmentId, incarnation, byteLength, checksum, floorBytes, state } = record;
  const bytes = content.subarray(REPLICA_HEADER_BYTES);
  const certificate = state === 'closed' ? { byteLength, checksum } : undefined;
  const scan = scanSegment(bytes, { logId, segmentId, incarnation, certificate, floorBytes });
  let digest: Uint8Array | undefined;
  for (const { type, payload } of segmentEntries(bytes, scan.offset)) {
    if (type === EntryType.LOG_DIGEST) digest = payload.slice();
  }
  return { path, record, scan, digest };
}
