import type { SegmentRef } from '@rdmc/tailwind';
import type { Backup } from '@rdmc/tailwind/backup';

/** The result of a replica's scan, and a copy of its bytes. */
export function loaded(backup: Backup, ref: SegmentRef) {
  return backup.load(ref, ({ result, bytes }) => ({ result, bytes: bytes.slice() }));
}
