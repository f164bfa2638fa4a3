import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeDurableDirectories, syncDirectory } from '@rdmc/common';
import { FileStoreLock } from '../coordinator/file-store-lock.js';
import { messageOf, TailwindError } from '../errors.js';
import { type SegmentRef, segmentKey } from '../segment-key.js';
import {
  decodeReplicaHeader,
  encodeReplicaHeader,
  REPLICA_HEADER_BYTES,
  type ReplicaRecord,
} from './replica-header.js';

export const REPLICA_SUFFIX = '.replica';
export const UNFINISHED = '.replica.tmp';
export const REPLICA_LOCK_NAME = 'backup';
/** Codes that concern a single file; the others may be intact. */
const UNUSABLE = ['ERR_RDMC_REPLICA_DAMAGED', 'ERR_RDMC_REPLICA_FOREIGN_FILE'];

/** A file that looks like a replica and cannot be used. It stays where it is. */
export interface DamagedFile {
  /** Path of the file. */
  readonly path: string;
  /** Why it cannot be used: a stable code. */
  readonly code: string;
  /** The same for people; it may change. */
  readonly message: string;
}

/**
 * A backup's directory: one file per replica, drawn in ./replica-header.ts. A file appears under its name only
 * when its bytes are on the disk.
 */
export class ReplicaStore {
  private constructor(
    readonly directory: string,
    private readonly clusterId: string,
    private readonly lock: FileStoreLock,
    /** Of the cluster: files are written in its formats. */
    public level: number,
  ) {}

  /**
   * Opens a directory, or creates it. Removes files that a crash left unfinished, and reads the headers.
   * @throws TailwindError ERR_RDMC_REPLICA_FOREIGN_CLUSTER, ERR_RDMC_REPLICA_FOREIGN_VERSION: the directory is not for
   *   this program, and nothing in it is changed; ERR_RDMC_STATE_LOCKED: another process uses it; errors of the file
   *   system
   */
  static async open(
    directory: string,
    clusterId: string,
    level: number,
  ): Promise<{ store: ReplicaStore; replicas: ReplicaRecord[]; damaged: DamagedFile[] }> {
    await makeDurableDirectories(directory);
    const lock = await FileStoreLock.take(join(directory, REPLICA_LOCK_NAME));
    const store = new ReplicaStore(directory, clusterId, lock, level);
    try {
      return { store, ...(await store.#readAll()) };
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Lets another process use the directory. */
  async close(): Promise<void> {
    await this.lock.release();
  }

  async #readAll(): Promise<{ replicas: ReplicaRecord[]; damaged: DamagedFile[] }> {
    const { directory } = this;
    const names = await readdir(directory);
    const replicas: ReplicaRecord[] = [];
    const damaged: DamagedFile[] = [];
    for (const name of names.filter((entry) => entry.endsWith(REPLICA_SUFFIX)).sort()) {
      const path = join(directory, name);
      try {
        replicas.push(await this.#readHeader(path));
      } catch (error) {
        const { code } = error as TailwindError;
        if (!UNUSABLE.includes(code)) throw error;
        damaged.push({ path, code, message: messageOf(error) });
      }
    }
    for (const name of names.filter((entry) => entry.endsWith(UNFINISHED))) await rm(join(directory, name));
    return { replicas, damaged };
  }

  /** The path of a replica's file, whether it exists or not. */
  pathOf(ref: SegmentRef): string {
    return join(this.directory, `${segmentKey(ref)}${REPLICA_SUFFIX}`);
  }

  /**
   * Writes a replica; resolves when its bytes and its name are on the disk. `bytes` must not change meanwhile.
   * @throws errors of the file system; the earlier file, if there was one, is unchanged then
   */
  async write(record: ReplicaRecord, bytes: Uint8Array): Promise<void> {
    const path = this.pathOf(record);
    const unfinished = `${path}.tmp`;
    try {
      const file = await open(unfinished, 'w', 0o600);
      try {
        await file.writev([
          encodeReplicaHeader(this.clusterId, record, this.level),
          bytes.subarray(0, record.byteLength),
        ]);
        const { size } = await file.stat();
        const wanted = REPLICA_HEADER_BYTES + record.byteLength;
        if (size !== wanted) throw shortWrite(unfinished, size, wanted);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await syncDirectory(this.directory);
  }

  /** Removes a replica's file, if there is one. */
  async remove(ref: SegmentRef): Promise<void> {
    await rm(this.pathOf(ref), { force: true });
    await syncDirectory(this.directory);
  }

  async #readHeader(path: string): Promise<ReplicaRecord> {
    const file = await open(path);
    try {
      const header = new Uint8Array(REPLICA_HEADER_BYTES);
      const { bytesRead } = await file.read(header, 0, header.length, 0);
      const { clusterId, record } = decodeReplicaHeader(header.subarray(0, bytesRead), path);
      if (clusterId !== this.clusterId) throw foreignCluster(path, clusterId, this.clusterId);
      requireMatchingFile(path, (await file.stat()).size, record);
      return record;
    } finally {
      await file.close();
    }
  }
}

/**
 * Checks that a file has the name of its segment, and all bytes that its header promises.
 * @throws TailwindError ERR_RDMC_REPLICA_DAMAGED
 */
export function requireMatchingFile(path: string, byteLength: number, record: ReplicaRecord): void {
  if (`${segmentKey(record)}${REPLICA_SUFFIX}` !== basename(path))
    throw damagedFile(path, 'its name is that of another replica');
  const wanted = REPLICA_HEADER_BYTES + record.byteLength;
  if (byteLength < wanted) throw damagedFile(path, `it has ${byteLength} bytes and needs ${wanted}`);
}

function shortWrite(path: string, size: number, wanted: number): Error {
  return Object.assign(new Error(`${path}: only ${size} of ${wanted} bytes were written`), {
    code: 'ENOSPC',
  });
}

function damagedFile(path: string, how: string): TailwindError {
  return new TailwindError('ERR_RDMC_REPLICA_DAMAGED', `${path} is damaged: ${how}`);
}

function foreignCluster(path: string, theirs: string, ours: string): TailwindError {
  return new TailwindError(
    'ERR_RDMC_REPLICA_FOREIGN_CLUSTER',
    `${path} belongs to cluster ${theirs}, and this is cluster ${ours}; give this backup another directory`,
  );
}
