/** The module that scanning threads run. */
import { open } from 'node:fs/promises';
import { EntryType } from './format/layout.js';
import { scanSegment, segmentEntries } from './format/scan.js';
import type { ScanAnswer, ScanJob } from './scanner/scan-job.js';
import { REPLICA_HEADER_BYTES } from './storage/replica-header.js';

async function load({ source }: ScanJob): Promise<Uint8Array> {
  if ('shared' in source) return new Uint8Array(source.shared);
  const bytes = new Uint8Array(new SharedArrayBuffer(source.byteLength));
  const file = await open(source.path);
  try {
    let at = 0;
    while (at < bytes.length) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, REPLICA_HEADER_BYTES + at);
      if (bytesRead === 0) break; // the file became shorter: the rest is zero, which the scan detects
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
  return bytes;
}

export default async function scan(job: ScanJob): Promise<ScanAnswer> {
  const bytes = await load(job);
  const result = scanSegment(bytes, {
    ...job.identity,
    certificate: job.certificate,
    floorBytes: job.floorBytes,
  });
  let digest: Uint8Array | undefined;
  for (const { type, payload } of segmentEntries(bytes, result.offset)) {
    if (type === EntryType.LOG_DIGEST) digest = payload.slice();
  }
  return { result, shared: bytes.buffer as SharedArrayBuffer, digest };
}
