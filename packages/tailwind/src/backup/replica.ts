import { Deferred } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { Certificate } from '../format/scan.js';
import { segmentKey } from '../segment-key.js';
import type { ReplicaRecord } from '../storage/replica-header.js';

/**
 * One replica of one segment at a backup:
 *
 * ```
 * open ── close{length, checksum} ──▶ closed, remote access revoked ── flushed ──▶ closed, in a file, no buffer
 *   └──────── dump ──▶ open, in a file, no buffer                                     (freed from every state)
 * ```
 *
 * A replacement is open and uncommitted first. Then it is committed as it is, or, for a closed segment, committed and
 * closed in one step: an open copy of a closed segment would look like the log's head.
 */
export class Replica {
  readonly key: string;
  readonly flushed = new Deferred<void>();
  freed = false;

  constructor(
    public record: ReplicaRecord,
    /** Written by the primary while the replica is open; undefined once the bytes are in a file only. */
    public buffer: MemoryRegion | undefined,
  ) {
    this.key = segmentKey(record);
    if (!buffer && record.state === 'closed') this.flushed.resolve();
  }

  get isOpen(): boolean {
    return this.record.state === 'open';
  }

  get certificate(): Certificate | undefined {
    const { byteLength, checksum } = this.record;
    return this.isOpen ? undefined : { byteLength, checksum };
  }

  update(changes: Partial<ReplicaRecord>): void {
    this.record = { ...this.record, ...changes };
  }
}
