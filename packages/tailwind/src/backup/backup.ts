import { messageOf, TailwindError } from '../errors.js';
import type { Certificate } from '../format/scan.js';
import type { Logger } from '../options.js';
import type { ScanAnswer } from '../scanner/scan-job.js';
import { type SegmentRef, segmentKey } from '../segment-key.js';
import type { ReplicaRecord } from '../storage/replica-header.js';
import { type DamagedFile, ReplicaStore } from '../storage/replica-store.js';
import { type BackupOptions, checkBackupOptions } from './backup-options.js';
import type { Grant, OpenReplica, ReplicaReport } from './backup-types.js';
import { BufferPool } from './buffer-pool.js';
import { Flusher } from './flusher.js';
import { Replica } from './replica.js';
import { ReplicaScanner } from './replica-scanner.js';

/**
 * Keeps replicas of other members' segments: in buffers that their primaries write with one-sided operations,
 * then in files. It does nothing while they are written (Tailwind, section 3.2); it works when they are opened,
 * closed, flushed, recovered and freed. Belongs to the application's thread.
 */
export class Backup {
  readonly #replicas = new Map<string, Replica>();
  readonly #fenced = new Set<bigint>();
  readonly #scanner: ReplicaScanner;
  readonly #flusher: Flusher;
  #ended: Promise<void> | undefined;

  private constructor(
    private readonly pool: BufferPool,
    private readonly store: ReplicaStore,
    private readonly logger: Logger | undefined,
    /** Files found at the start that cannot be used, with the code of the reason; they are left where they are. */
    readonly damaged: readonly DamagedFile[],
    replicas: readonly ReplicaRecord[],
  ) {
    this.#flusher = new Flusher(store, pool, logger);
    this.#scanner = new ReplicaScanner(store);
    for (const record of replicas) {
      const replica = new Replica(record, undefined);
      this.#replicas.set(replica.key, replica);
    }
  }

  /**
   * Makes the buffers, and takes up the replicas that an earlier run left in the directory.
   * @throws TailwindError ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_REPLICA_FOREIGN_CLUSTER,
   *   ERR_RDMC_REPLICA_FOREIGN_VERSION; VerbsError ERR_RDMC_OUT_OF_MEMORY; errors of the file system
   */
  static async open(options: BackupOptions): Promise<Backup> {
    const { protectionDomain, directory, clusterId, segmentBytes, buffers, logger } =
      checkBackupOptions(options);
    const { store, replicas, damaged } = await ReplicaStore.open(directory, clusterId);
    for (const file of damaged) logger?.warn?.(file, 'a replica cannot be used');
    const pool = await BufferPool.create(protectionDomain, segmentBytes, buffers, logger);
    return new Backup(pool, store, logger, damaged, replicas);
  }

  get segmentBytes(): number {
    return this.pool.bufferBytes;
  }

  /** Buffers free and in use (open, or closed and not flushed). */
  get buffers(): { readonly free: number; readonly used: number; readonly limit: number } {
    const { free, used, limit } = this.pool;
    return { free, used, limit };
  }

  /**
   * Grants a zeroed buffer for a segment.
   * @throws TailwindError ERR_RDMC_BACKUP_FULL, ERR_RDMC_REPLICA_EXISTS, ERR_RDMC_LOG_FENCED,
   *   ERR_RDMC_INVALID_OPTION for a segment larger than the buffers, ERR_RDMC_BACKUP_CLOSED
   */
  async openReplica(request: OpenReplica): Promise<Grant> {
    this.#admit(request.logId);
    const { segmentBytes } = request;
    if (segmentBytes > this.pool.bufferBytes) {
      throw new TailwindError(
        'ERR_RDMC_INVALID_OPTION',
        `Segments of ${segmentBytes} bytes do not fit into buffers of ${this.pool.bufferBytes}`,
      );
    }
    this.#checkAbsent(request);
    const buffer = await this.pool.take();
    try {
      this.#admit(request.logId);
      this.#checkAbsent(request);
    } catch (error) {
      await this.pool.giveBack(buffer);
      throw error;
    }
    const state = { state: 'open', checksum: 0, lengthBytes: segmentBytes, floorBytes: 0 } as const;
    const replica = new Replica({ ...request, ...state }, buffer);
    this.#replicas.set(replica.key, replica);
    return { address: buffer.address, rkey: buffer.rkey };
  }

  /**
   * Ends the primary's access to a segment, which is complete, and begins to write it to a file. The same again is
   * harmless.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_LOG_FENCED
   */
  closeReplica(ref: SegmentRef, certificate: Certificate): void {
    this.#admit(ref.logId);
    const replica = this.#find(ref);
    const { lengthBytes, checksum } = certificate;
    if (!replica.isOpen) {
      const before = replica.certificate!;
      if (before.lengthBytes === lengthBytes && before.checksum === checksum) return;
      throw this.#wrongState(replica, 'was closed before, with another certificate');
    }
    if (!replica.buffer || lengthBytes > replica.record.segmentBytes) {
      throw this.#wrongState(replica, 'cannot be closed like that');
    }
    replica.buffer.revoke();
    replica.update({ state: 'closed', lengthBytes, checksum });
    this.#flusher.flush(replica);
  }

  /** Whether there is a replica that recovery would be told of. */
  holds(ref: SegmentRef): boolean {
    return this.#replicas.get(segmentKey(ref))?.record.committed ?? false;
  }

  /** Resolves when a closed replica is in its file. @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN */
  flushed(ref: SegmentRef): Promise<void> {
    return this.#find(ref).flushed.promise;
  }

  /**
   * Makes a replacement visible to recovery. It must hold exactly what the primary says, which also becomes its
   * floor: from now on a shorter one is corrupt.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_REPLICA_MISMATCH
   */
  async commitReplica(ref: SegmentRef, epoch: number, certificate: Certificate): Promise<void> {
    this.#admit(ref.logId);
    const replica = this.#find(ref);
    if (!replica.isOpen) throw this.#wrongState(replica, 'is not open');
    const { result } = await this.#scanner.scan(replica, certificate);
    this.#admit(ref.logId);
    if (result.status !== 'ok') {
      throw new TailwindError(
        'ERR_RDMC_REPLICA_MISMATCH',
        `Replica ${replica.key} is not what its primary commits: ${result.reason} at ${result.offset}`,
      );
    }
    replica.update({ epoch, committed: true, floorBytes: certificate.lengthBytes });
  }

  /** Tells an open replica of a new epoch. @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE */
  setEpoch(ref: SegmentRef, epoch: number): void {
    this.#admit(ref.logId);
    const replica = this.#find(ref);
    if (!replica.isOpen || epoch < replica.record.epoch)
      throw this.#wrongState(replica, `has no epoch ${epoch}`);
    replica.update({ epoch });
  }

  /**
   * Forgets a replica, buffer and file; of one that is not here, nothing happens.
   * @throws TailwindError ERR_RDMC_LOG_FENCED: recovery may need it, and ends with `freeLog`
   */
  async freeReplica(ref: SegmentRef): Promise<void> {
    this.#admit(ref.logId);
    const replica = this.#replicas.get(segmentKey(ref));
    if (replica) await this.#free(replica);
  }

  /** Forgets all replicas of a log. */
  async freeLog(logId: bigint): Promise<void> {
    const mine = [...this.#replicas.values()].filter(({ record }) => record.logId === logId);
    await Promise.all(mine.map((replica) => this.#free(replica)));
  }

  /**
   * Ends the access of a log's primary for good: once this returns, no byte of its replicas changes, and it can
   * open, close and commit none here (rule: fence before answering a recovery's question). Again is harmless.
   */
  fence(logId: bigint): void {
    this.#fenced.add(logId);
    for (const { record, buffer } of this.#replicas.values()) {
      if (record.logId === logId && record.state === 'open') buffer?.revoke();
    }
  }

  /** Fences a log and tells what is here of it; uncommitted replacements are not. */
  async inventory(logId: bigint): Promise<ReplicaReport[]> {
    this.fence(logId);
    const mine = [...this.#replicas.values()].filter(
      ({ record }) => record.logId === logId && record.committed,
    );
    return Promise.all(
      mine.map(async (replica) => {
        if (!replica.isOpen) return { record: replica.record, scan: undefined, digest: undefined };
        const { result, digest } = await this.#scanner.scan(replica, undefined);
        return { record: replica.record, scan: result, digest };
      }),
    );
  }

  /** A replica's bytes, scanned. @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN; errors of the file system */
  async load(ref: SegmentRef): Promise<ScanAnswer> {
    const replica = this.#find(ref);
    return this.#scanner.scan(replica, replica.certificate);
  }

  /**
   * For the end of power: takes every primary's access away and writes all buffers to files, open ones whole, to be
   * scanned when they are needed. The backup is closed then. What cannot be written is in the error.
   * @throws AggregateError of the file system's errors
   */
  async dump(): Promise<void> {
    const buffered = [...this.#replicas.values()].filter(({ buffer }) => buffer);
    for (const { buffer } of buffered) buffer!.revoke();
    this.#ended ??= this.#stop();
    await this.#flusher.stop();
    const results = await Promise.allSettled(
      buffered.map(async ({ record, buffer, freed }) => {
        if (buffer && !buffer.closed && !freed) await this.store.write(record, buffer.view());
      }),
    );
    await this.close();
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} replicas were not written`);
  }

  /** Gives all memory back. What is not in a file is lost here; `dump` keeps it. Idempotent. */
  async close(): Promise<void> {
    this.#ended ??= this.#stop();
    await this.#ended;
    const buffers = [...this.#replicas.values()].flatMap(({ buffer }) => (buffer ? [buffer] : []));
    this.#replicas.clear();
    await Promise.all(buffers.map((buffer) => buffer.close()));
    await this.pool.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #stop(): Promise<void> {
    await Promise.all([this.#flusher.stop(), this.#scanner.close()]);
  }

  async #free(replica: Replica): Promise<void> {
    replica.freed = true;
    this.#replicas.delete(replica.key);
    if (replica.buffer && !replica.buffer.closed) replica.buffer.revoke();
    await this.#flusher.free(replica).catch((error: unknown) => {
      this.logger?.warn?.({ replica: replica.key, reason: messageOf(error) }, 'a replica was not removed');
    });
  }

  #admit(logId: bigint): void {
    if (this.#ended) throw new TailwindError('ERR_RDMC_BACKUP_CLOSED', 'This backup is closed');
    if (!this.#fenced.has(logId)) return;
    throw new TailwindError(
      'ERR_RDMC_LOG_FENCED',
      `Log ${logId} is being recovered: its primary may write no more, and must stop serving`,
    );
  }

  #checkAbsent(ref: SegmentRef): void {
    const key = segmentKey(ref);
    if (!this.#replicas.has(key)) return;
    throw new TailwindError('ERR_RDMC_REPLICA_EXISTS', `Replica ${key} is here already`);
  }

  #find(ref: SegmentRef): Replica {
    const key = segmentKey(ref);
    const replica = this.#replicas.get(key);
    if (replica) return replica;
    throw new TailwindError('ERR_RDMC_REPLICA_UNKNOWN', `There is no replica ${key} here`);
  }

  #wrongState({ key }: Replica, how: string): TailwindError {
    return new TailwindError('ERR_RDMC_REPLICA_STATE', `Replica ${key} ${how}`);
  }
}
