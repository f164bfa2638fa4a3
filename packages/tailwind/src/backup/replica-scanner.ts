import {
  MAX_SLOTS,
  REHEARSALS,
  SCAN_AT_ONCE_BYTES,
  SCAN_BUFFERS,
  SCAN_THREAD_IDLE_MS,
} from '../constants.js';
import { type Certificate, type ScanResult, scanSegment } from '../format/scan.js';
import { ScanBuffers } from '../scanner/scan-buffers.js';
import type { DivideJob, ScanAnswer } from '../scanner/scan-job.js';
import { SCAN_THREADS, Scanner } from '../scanner/scanner.js';
import type { ReplicaStore } from '../storage/replica-store.js';
import type { ReplicaReport } from './backup-types.js';
import type { Replica } from './replica.js';

/** A scanned replica. */
export interface ScannedReplica extends ScanAnswer {
  /** The segment, or what its certificate counts. Its buffer is used again afterwards. */
  readonly bytes: Uint8Array;
  /** The parts, where it was divided; likewise. */
  readonly parts: Uint8Array;
}

/** Scans replicas in threads, from their buffers or from their files. */
export class ReplicaScanner {
  readonly #buffers = new ScanBuffers(SCAN_BUFFERS, SCAN_THREAD_IDLE_MS);

  constructor(
    private readonly store: Pick<ReplicaStore, 'pathOf'>,
    private readonly scanner: Pick<Scanner, 'scan' | 'close'> = new Scanner(),
  ) {}

  /** Whether a replica matches its primary's certificate. A short one is checked at once: threads would have to start. */
  async check(replica: Replica, certificate: Certificate): Promise<ScanResult> {
    const { record, buffer } = replica;
    if (!buffer || certificate.byteLength > SCAN_AT_ONCE_BYTES)
      return this.scan(replica, certificate, ({ result }) => result);
    const { logId, segmentId, incarnation } = record;
    return scanSegment(buffer.view(0, record.segmentBytes), { logId, segmentId, incarnation, certificate });
  }

  /** What a recovery is told of a replica. */
  async report(replica: Replica): Promise<ReplicaReport> {
    if (!replica.isOpen) return { record: replica.record, scan: undefined, digest: undefined };
    const found = await this.scan(replica, undefined, ({ result: scan, digest }) => ({ scan, digest }));
    return { record: replica.record, ...found };
  }

  /** Resolves with the result of `use`, which gets the bytes. */
  async scan<T>(
    replica: Replica,
    certificate: Certificate | undefined,
    use: (scanned: ScannedReplica) => T | Promise<T>,
    divide?: DivideJob,
  ): Promise<T> {
    const { segmentBytes } = replica.record;
    const shared = await this.#buffers.take(divide ? 2 * segmentBytes : segmentBytes);
    try {
      const { byteLength, path } = this.#fill(shared, replica, certificate);
      const { floorBytes, logId, segmentId, incarnation } = replica.record;
      const identity = { logId, segmentId, incarnation };
      const answer = await this.scanner.scan({
        shared,
        byteLength,
        path,
        identity,
        certificate,
        floorBytes,
        divide,
      });
      const parts = new Uint8Array(shared, byteLength, sumOf(answer.partBytes));
      return await use({ ...answer, bytes: new Uint8Array(shared, 0, byteLength), parts });
    } finally {
      this.#buffers.give(shared);
    }
  }

  /**
   * Starts the threads, and has each of them scan and divide a replica for nothing. Most of the processor time of a short recovery
   * was that of threads that start, and of the compiler. Never rejects: a recovery scans its replicas again.
   */
  async rehearse(replicas: readonly Replica[], divider: string): Promise<void> {
    const closed = replicas.filter(({ isOpen }) => !isOpen);
    const some = [...closed, ...replicas.filter(({ isOpen }) => isOpen)].slice(0, SCAN_THREADS);
    const partOfSlot = new SharedArrayBuffer(MAX_SLOTS * Int16Array.BYTES_PER_ELEMENT);
    const how = { divider, partOfSlot, parts: 1, byteLength: undefined };
    for (let round = 0; round < REHEARSALS; round += 1) {
      await Promise.allSettled(some.map((each) => this.scan(each, each.certificate, () => {}, how)));
    }
  }

  close(): Promise<void> {
    return this.scanner.close();
  }

  /** Copies the replica's buffer, which belongs to peers and to the pool; or names the file that the thread reads. */
  #fill(
    shared: SharedArrayBuffer,
    { record, buffer }: Replica,
    certificate: Certificate | undefined,
  ): { byteLength: number; path?: string } {
    if (!buffer) return { byteLength: record.byteLength, path: this.store.pathOf(record) };
    // What is behind a certificate does not count.
    const byteLength = Math.min(record.segmentBytes, certificate?.byteLength ?? record.segmentBytes);
    new Uint8Array(shared).set(buffer.view(0, byteLength));
    return { byteLength };
  }
}

function sumOf(lengths: readonly number[] = []): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}
