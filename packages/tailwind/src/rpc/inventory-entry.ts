import type { ReplicaReport } from '../backup/backup-types.js';

/** A backup's answer about one replica; `inventoryAnswer` in messages.ts reads it. */
export function inventoryEntry({ record, scan, digest }: ReplicaReport) {
  const { segmentId, incarnation, epoch, state, survivor, byteLength, checksum } = record;
  return {
    segmentId: String(segmentId),
    incarnation,
    epoch,
    state,
    survivor,
    byteLength,
    checksum,
    scan: scan ?? null,
    digest: digest ? Buffer.from(digest).toString('base64') : null,
  };
}
