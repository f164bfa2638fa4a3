import { readFile } from 'node:fs/promises';
import { TailwindError } from '../errors.js';
import { EntryType, HEADER_BYTES, readU32 } from '../format/layout.js';
import { decodeSegmentHeader } from '../format/payloads.js';
import type { ScanOptions } from '../format/scan.js';
import { decodeReplicaHeader, isReplicaFile, REPLICA_HEADER_BYTES } from '../storage/replica-header.js';
import type { ScanArguments } from './arguments.js';

/** A segment from a file, and the identity and limits to scan it with. */
export interface SegmentFile {
  readonly bytes: Uint8Array;
  readonly scan: ScanOptions;
}

/**
 * Reads a replica's file, whose header identifies the segment, or the bare bytes of a segment, identified by their
 * first entry. Arguments take precedence over both.
 * @throws TailwindError ERR_RDMC_REPLICA_..., ERR_RDMC_INVALID_OPTION; errors of the file system
 */
export async function readSegmentFile(options: ScanArguments): Promise<SegmentFile> {
  const content = await readFile(options.file);
  const replica = isReplicaFile(content) ? decodeReplicaHeader(content, options.file).record : undefined;
  const bytes = replica ? content.subarray(REPLICA_HEADER_BYTES) : content;
  const said = replica ?? headerEntry(bytes);
  const logId = options.logId ?? said?.logId;
  const segmentId = options.segmentId ?? said?.segmentId;
  const incarnation = options.incarnation ?? said?.incarnation;
  if (logId === undefined || segmentId === undefined || incarnation === undefined) {
    throw new TailwindError(
      'ERR_RDMC_REPLICA_FOREIGN_FILE',
      `${options.file} does not say whose segment it is; give --log-id, --segment-id and --incarnation`,
    );
  }
  const closed = replica?.state === 'closed' ? replica : undefined;
  const { byteLength = closed?.byteLength, checksum = closed?.checksum } = options;
  const certificate =
    byteLength === undefined || checksum === undefined ? undefined : { byteLength, checksum };
  const floorBytes = options.floorBytes ?? replica?.floorBytes;
  return { bytes, scan: { logId, segmentId, incarnation, certificate, floorBytes } };
}

function headerEntry(bytes: Uint8Array) {
  if (bytes.length < HEADER_BYTES || bytes[0] !== EntryType.SEGMENT_HEADER) return undefined;
  const payload = bytes.subarray(HEADER_BYTES, HEADER_BYTES + readU32(bytes, 4));
  try {
    return decodeSegmentHeader(payload);
  } catch {
    return undefined;
  }
}
