import { messageOf, TailwindError } from '../errors.js';
import type { Certificate } from '../format/scan.js';
import type { Logger } from '../options.js';
import type { DivideJob } from '../scanner/scan-job.js';
import { type SegmentRef, segmentKey } from '../segment-key.js';
import { type DamagedFile, ReplicaStore } from '../storage/replica-store.js';
import { type BackupOptions, checkBackupOptions } from './backup-options.js';
import type { Grant, OpenReplica, ReplicaReport } from './backup-types.js';
import { BufferPool } from './buffer-pool.js';
import { Fences } from './fences.js';
import type { FlushFailure } from './flush-failures.js';
import { Flusher } from './flusher.js';
import { type DiskFacts, PowerGrant } from './power-grant.js';
import { Replica } from './replica.js';
import { ReplicaScanner, type ScannedReplica } from './replica-scanner.js';
import { ReplicaTable, unknownReplica, wrongState } from './replica-table.js';

/**
 * Keeps replicas of other members' segments: first in buffers that the primaries write with one-sided operations, then
 * in files. The backup does nothing during these writes (Tailwind, section 3.2); it works when replicas are opened,
 * closed, flushed, recovered and freed. Belongs to the application's thread.
 */
export class Backup {
  readonly #fences = new Fences();
  readonly #scanner: ReplicaScanner;
  readonly #flusher: Flusher;
  #power: PowerGrant | undefined;
  #ended: Promise<void> | undefined;
  #rehearsal: Promise<void> | undefined;
  #dumped: Promise<void> | undefined;
  #beforeRevoke: (key: string) => Promise<void> = async () => {};

  private constructor(
    private readonly pool: BufferPool,
    private readonly store: ReplicaStore,
    private readonly logger: Logger | undefined,
    /** Unusable files found at the start, with the code of the reason; they stay where they are. */
    readonly damaged: readonly DamagedFile[],
    private readonly replicas: ReplicaTable,
  ) {
    this.#flusher = new Flusher(store, pool, logger, (bytes, ms) => this.#power?.flushed(bytes, ms));
    this.#scanner = new ReplicaScanner(store);
  }

  /**
   * Allocates the buffers, and adopts the replicas that an earlier run left in the directory.
   * @throws TailwindError ERR_RDMC_INVALID_OPTION, ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_REPLICA_FOREIGN_CLUSTER,
   *   ERR_RDMC_REPLICA_FOREIGN_VERSION; VerbsError ERR_RDMC_OUT_OF_MEMORY; errors of the file system
   */
  static async open(options: BackupOptions): Promise<Backup> {
    const checked = checkBackupOptions(options);
    const { protectionDomain, directory, clusterId, segmentBytes, logger } = checked;
    const { store, replicas, damaged } = await ReplicaStore.open(directory, clusterId, checked.level);
    for (const file of damaged) logger?.warn?.(file, 'a replica cannot be used');
    try {
      const power = await PowerGrant.of(checked);
      const granted = power?.granted ?? checked.buffers;
      const pool = await BufferPool.create(protectionDomain, segmentBytes, granted, logger);
      power?.apply(pool);
      const found = replicas.map((record) => new Replica(record, undefined));
      const backup = new Backup(pool, store, logger, damaged, new ReplicaTable(found));
      backup.#power = power;
      return backup;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** The level of the cluster: files are written in its formats. */
  get level(): number {
    return this.store.level;
  }

  /** The cluster has another level from now on: files that are written later have its formats. */
  set level(level: number) {
    this.store.level = level;
  }

  /** Size of each buffer: the largest segment that this backup takes, in bytes. */
  get segmentBytes(): number {
    return this.pool.bufferBytes;
  }

  /** Buffers free and in use (open, or closed and not flushed). */
  get buffers(): { readonly free: number; readonly used: number; readonly limit: number } {
    const { free, used, limit } = this.pool;
    return { free, used, limit };
  }

  /** Why segments are not written to files, as on a full disk; undefined: none had to be tried again, or all are written since. */
  get flushFailure(): FlushFailure | undefined {
    return this.#flusher.failures.current;
  }

  /** Writes of segments to files that failed since the backup was opened. */
  get failedFlushes(): number {
    return this.#flusher.failures.total;
  }

  /** What the limit of the buffers follows from; undefined without `powerHoldSeconds`. */
  get disk(): DiskFacts | undefined {
    return this.#power?.report();
  }

  /**
   * Sets the callback that ends other ways of writing to a replica's buffer. It is awaited before the buffer is read
   * or freed.
   */
  onRevoke(listener: (key: string) => Promise<void>): void {
    this.#beforeRevoke = listener;
  }

  /**
   * Grants a zeroed buffer for a segment. A replacement (not committed) may be opened beside an existing replica; it
   * takes the place of an earlier replacement that was abandoned.
   * @throws TailwindError ERR_RDMC_BACKUP_FULL, ERR_RDMC_REPLICA_EXISTS, ERR_RDMC_LOG_FENCED,
   *   ERR_RDMC_INVALID_OPTION for a segment larger than the buffers, ERR_RDMC_BACKUP_CLOSED
   */
  async openReplica(request: OpenReplica): Promise<Grant> {
    this.admit(request.logId);
    const { segmentBytes } = request;
    if (segmentBytes > this.pool.bufferBytes) {
      throw new TailwindError(
        'ERR_RDMC_INVALID_OPTION',
        `Segments of ${segmentBytes} bytes do not fit into buffers of ${this.pool.bufferBytes}`,
      );
    }
    await this.#removeReplacement(request);
    const buffer = await this.pool.take();
    try {
      this.admit(request.logId);
      await this.#removeReplacement(request);
      this.admit(request.logId);
    } catch (error) {
      await this.pool.giveBack(buffer);
      throw error;
    }
    const { survivor = false } = request;
    const state = { state: 'open', checksum: 0, byteLength: segmentBytes, floorBytes: 0 } as const;
    const replica = new Replica({ ...request, ...state, survivor }, buffer);
    this.replicas.add(replica);
    return { address: buffer.address, rkey: buffer.rkey };
  }

  /**
   * Revokes the primary's access to a complete segment, and begins to write it to a file. Calling it again with the
   * same certificate has no effect.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_LOG_FENCED
   */
  closeReplica(ref: SegmentRef, certificate: Certificate): void {
    this.admit(ref.logId);
    const replica = this.replicas.find(ref);
    const { byteLength, checksum } = certificate;
    if (!replica.isOpen) {
      const before = replica.certificate!;
      if (before.byteLength === byteLength && before.checksum === checksum) return;
      throw wrongState(replica, 'was closed before, with another certificate');
    }
    if (!replica.buffer || byteLength > replica.record.segmentBytes) {
      throw wrongState(replica, `cannot be closed at ${byteLength} bytes: it was dumped, or is shorter`);
    }
    replica.buffer.revoke();
    replica.update({ state: 'closed', byteLength, checksum });
    this.#flusher.flush(replica);
  }

  /** Whether this backup has any replica of a log. */
  holdsLog(logId: bigint): boolean {
    return this.replicas.ofLog(logId).length > 0;
  }

  /** Ids of the segments of a log with a replica here, a replacement that is not committed included. */
  segmentsOf(logId: bigint): bigint[] {
    return [...new Set(this.replicas.ofLog(logId).map(({ record }) => record.segmentId))];
  }

  /** Ids of the logs with a replica here. */
  get logIds(): bigint[] {
    return [...new Set(this.replicas.all().map(({ record }) => record.logId))];
  }

  /** Whether there is a replica that recovery would be told about. */
  holds(ref: SegmentRef): boolean {
    return this.replicas.holds(ref);
  }

  /** Resolves when a closed replica is in its file. @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN */
  flushed(ref: SegmentRef): Promise<void> {
    return this.replicas.find(ref).flushed.promise;
  }

  /**
   * Makes a replacement visible to recovery, in the place of the old replica. The replacement must match the primary's
   * certificate, whose length also becomes its floor: from then on a shorter replica is corrupt.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_REPLICA_MISMATCH
   */
  async commitReplica(ref: SegmentRef, epoch: number, certificate: Certificate): Promise<void> {
    const replica = await this.#checkReplacement(ref, certificate);
    replica.update({ epoch, committed: true, floorBytes: certificate.byteLength });
    this.#putInPlace(replica);
  }

  /**
   * Commits and closes the copy of a closed replica, in one step: recovery sees it closed, or not at all.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_REPLICA_MISMATCH
   */
  async restoreReplica(ref: SegmentRef, epoch: number, certificate: Certificate): Promise<void> {
    this.admit(ref.logId);
    this.replicas.replacement(segmentKey(ref))?.buffer?.revoke();
    const replica = await this.#checkReplacement(ref, certificate);
    replica.update({ epoch, committed: true, state: 'closed', ...certificateOf(certificate) });
    this.#putInPlace(replica);
    this.#flusher.flush(replica);
  }

  /**
   * Resolves where the closed replica of a segment is here, complete as the primary's certificate has it. The primary of a backup that
   * was lost, and is back with its files, asks for that, and does without a copy.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE, ERR_RDMC_REPLICA_MISMATCH, ERR_RDMC_LOG_FENCED; errors of the
   *   file system
   */
  async checkClosed(ref: SegmentRef, certificate: Certificate): Promise<void> {
    this.admit(ref.logId);
    const replica = this.replicas.find(ref);
    const { byteLength, checksum } = replica.certificate ?? {};
    if (
      !replica.record.committed ||
      byteLength !== certificate.byteLength ||
      checksum !== certificate.checksum
    )
      throw wrongState(replica, 'was not closed with this certificate');
    const result = await this.#scanner.scan(replica, certificate, (scanned) => scanned.result);
    this.admit(ref.logId);
    if (replica.freed || !this.replicas.isInPlace(replica)) throw unknownReplica(replica.key);
    if (result.status !== 'ok') throw mismatch(replica.key, result);
  }

  /** Sets the epoch of an open replica. @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN, ERR_RDMC_REPLICA_STATE */
  setEpoch(ref: SegmentRef, epoch: number): void {
    this.admit(ref.logId);
    const replica = this.replicas.find(ref);
    if (!replica.isOpen || epoch < replica.record.epoch)
      throw wrongState(
        replica,
        `cannot take epoch ${epoch}: it is ${replica.record.state}, in epoch ${replica.record.epoch}`,
      );
    replica.update({ epoch });
  }

  /**
   * Frees a replica, buffer and file. Has no effect when there is no such replica.
   * @throws TailwindError ERR_RDMC_LOG_FENCED: recovery may need it, and ends with `freeLog`
   */
  async freeReplica(ref: SegmentRef): Promise<void> {
    this.admit(ref.logId);
    const mine = this.replicas.ofSegment(segmentKey(ref));
    await Promise.all(mine.map((replica) => this.#free(replica)));
  }

  /** Frees all replicas of a log. */
  async freeLog(logId: bigint): Promise<void> {
    await Promise.all(this.replicas.ofLog(logId).map((replica) => this.#free(replica)));
  }

  /**
   * Ends the access of a log's primary, until `unfence`. Once this returns, no byte of its replicas changes, and the
   * primary cannot open, close or commit a replica here (rule: fence before answering a recovery's question).
   * Idempotent.
   */
  fence(logId: bigint): void {
    this.#fences.add(logId);
    for (const { record, buffer } of this.replicas.ofLog(logId))
      if (record.state === 'open') buffer?.revoke();
  }

  /** Logs that are fenced here. */
  get fencedLogs(): bigint[] {
    return this.#fences.logIds;
  }

  /**
   * Removes the fence of a log. Only allowed when its primary cannot claim the log any more, here or anywhere: the
   * coordinator has recorded its recovery, and is asked before every claim. While this backup has anything of the log,
   * the log stays fenced.
   */
  unfence(logId: bigint): void {
    if (!this.holdsLog(logId)) this.#fences.remove(logId);
  }

  /** Fences a log and reports its replicas here, without uncommitted replacements. */
  async inventory(logId: bigint): Promise<ReplicaReport[]> {
    this.fence(logId);
    const mine = this.replicas.ofLog(logId).filter(({ record }) => record.committed);
    return Promise.all(mine.map((replica) => this.#scanner.report(replica)));
  }

  /**
   * Scans a replica, and divides it where told to; resolves with the result of `use`, which gets its bytes.
   * @throws TailwindError ERR_RDMC_REPLICA_UNKNOWN; errors of the file system
   */
  async load<T>(
    ref: SegmentRef,
    use: (scanned: ScannedReplica) => T | Promise<T>,
    divide?: DivideJob,
  ): Promise<T> {
    const replica = this.replicas.find(ref);
    return this.#scanner.scan(replica, replica.certificate, use, divide);
  }

  /**
   * A recovery may come soon: its first scans then find threads that have started and compiled code. Never rejects.
   * @param divider URL of the module that recoveries divide segments by
   */
  rehearseScans(divider: string): Promise<void> {
    this.#rehearsal ??= this.#scanner.rehearse(this.replicas.inPlace(), divider).finally(() => {
      this.#rehearsal = undefined;
    });
    return this.#rehearsal;
  }

  /**
   * For a power failure: revokes every primary's access and writes all buffers to files. Open ones are written whole,
   * and scanned when they are needed. Uncommitted replacements do not count yet. The backup is closed afterwards. The
   * error lists what could not be written. Later calls return the same dump.
   * @throws AggregateError of the file system's errors
   */
  dump(): Promise<void> {
    this.#dumped ??= this.#dump();
    return this.#dumped;
  }

  /** Frees all memory. Everything that is not in a file is lost here; `dump` keeps it. Idempotent. */
  async close(): Promise<void> {
    // A dump under way is completed first.
    await this.#dumped?.catch(() => {});
    await this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#ended ??= this.#stop();
    await this.#ended;
    const all = this.replicas.all();
    this.replicas.clear();
    await Promise.all(
      all.map(async ({ key, buffer }) => {
        if (buffer) await this.#beforeRevoke(key);
        await buffer?.close();
      }),
    );
    await this.pool.close();
    await this.store.close();
  }

  async #dump(): Promise<void> {
    const buffered = this.replicas.inPlace().filter(({ buffer }) => buffer);
    for (const { buffer } of this.replicas.all()) buffer?.revoke();
    this.#ended ??= this.#stop();
    await this.#flusher.stop();
    await Promise.all(buffered.map(({ key }) => this.#beforeRevoke(key)));
    const results = await Promise.allSettled(
      buffered.map(async ({ record, buffer, freed }) => {
        if (buffer && !buffer.closed && !freed) await this.store.write(record, buffer.view());
      }),
    );
    await this.#close();
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} replicas were not written`);
  }

  async #stop(): Promise<void> {
    this.#fences.close();
    await Promise.all([this.#flusher.stop(), this.#scanner.close()]);
  }

  async #free(replica: Replica): Promise<void> {
    // A replacement does not have a file yet: a file with its name belongs to the replica that it was to replace.
    const mayHaveFile = this.replicas.isInPlace(replica);
    this.replicas.forget(replica);
    await this.#beforeRevoke(replica.key);
    const done = mayHaveFile ? this.#flusher.free(replica) : this.#flusher.release(replica);
    await done.catch((error: unknown) => {
      this.logger?.warn?.({ replica: replica.key, reason: messageOf(error) }, 'a replica was not removed');
    });
  }

  /** @throws TailwindError ERR_RDMC_REPLICA_EXISTS */
  async #removeReplacement(request: OpenReplica): Promise<void> {
    const key = segmentKey(request);
    if (request.committed && this.replicas.ofSegment(key).length > 0) {
      throw new TailwindError('ERR_RDMC_REPLICA_EXISTS', `This backup has replica ${key} already`);
    }
    const abandoned = this.replicas.replacement(key);
    if (abandoned) await this.#free(abandoned);
  }

  /** The replacement that is about to be committed, after a check that its bytes match the primary's certificate. */
  async #checkReplacement(ref: SegmentRef, certificate: Certificate): Promise<Replica> {
    this.admit(ref.logId);
    const key = segmentKey(ref);
    const replica = this.replicas.replacement(key) ?? this.replicas.find(ref);
    if (replica.record.committed) throw wrongState(replica, 'was committed before');
    const result = await this.#scanner.check(replica, certificate);
    this.admit(ref.logId);
    // During the scan the replacement may have been abandoned, or the log recovered and freed.
    if (this.replicas.replacement(key) !== replica) throw unknownReplica(key);
    if (result.status === 'ok') return replica;
    throw mismatch(key, result);
  }

  #putInPlace(replica: Replica): void {
    const before = this.replicas.putInPlace(replica);
    if (before) void this.#flusher.release(before);
  }

  /** @throws TailwindError ERR_RDMC_BACKUP_CLOSED; ERR_RDMC_LOG_FENCED where the log's primary was fenced */
  admit(logId: bigint): void {
    this.#fences.admit(logId);
  }
}

function mismatch(
  key: string,
  { reason, offset }: { readonly reason: string; readonly offset: number },
): TailwindError {
  return new TailwindError(
    'ERR_RDMC_REPLICA_MISMATCH',
    `Replica ${key} does not match its primary's certificate: ${reason} at ${offset}`,
  );
}

function certificateOf({ byteLength, checksum }: Certificate): Certificate {
  return { byteLength, checksum };
}
