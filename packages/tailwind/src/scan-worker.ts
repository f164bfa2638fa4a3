/** The module that scanning threads run. */
import { open } from 'node:fs/promises';
import { EntryType, HEADER_BYTES, readU32 } from './format/layout.js';
import { scanSegment } from './format/scan.js';
import { divide } from './scanner/divide.js';
import type { DivideJob, Divider, ScanAnswer, ScanJob } from './scanner/scan-job.js';
import { REPLICA_HEADER_BYTES } from './storage/replica-header.js';

/** Reads the file. If it became shorter, the rest is zero, which the scan detects. */
async function read(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path);
  let at = 0;
  try {
    while (at < bytes.length) {
      const { bytesRead } = await file.read(bytes, at, bytes.length - at, REPLICA_HEADER_BYTES + at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
  bytes.fill(0, at);
}

export default async function scan(job: ScanJob): Promise<ScanAnswer> {
  const bytes = new Uint8Array(job.shared, 0, job.byteLength);
  if (job.path !== undefined) await read(job.path, bytes);
  const result = scanSegment(bytes, {
    ...job.identity,
    certificate: job.certificate,
    floorBytes: job.floorBytes,
  });
  const digest = lastDigest(bytes, result.offset);
  const dividedBytes = job.divide?.byteLength ?? result.offset;
  const isDivided = job.divide !== undefined && dividedBytes <= result.offset;
  const partBytes = isDivided ? await divided(job, { ...job.divide!, byteLength: dividedBytes }) : undefined;
  return { result, digest, partBytes };
}

/** The payload of the last digest in a scanned prefix. Segments have very many entries: none of the others gets an object. */
function lastDigest(bytes: Uint8Array, end: number): Uint8Array | undefined {
  let [found, foundEnd] = [-1, 0];
  for (let at = 0; at < end; ) {
    const next = at + HEADER_BYTES + readU32(bytes, at + 4);
    if (bytes[at] === EntryType.LOG_DIGEST) [found, foundEnd] = [at, next];
    at = next;
  }
  return found < 0 ? undefined : bytes.slice(found + HEADER_BYTES, foundEnd);
}

async function divided(
  { shared, byteLength }: ScanJob,
  how: DivideJob & { readonly byteLength: number },
): Promise<number[]> {
  const { default: slotOf } = (await import(how.divider)) as { readonly default: Divider };
  return divide(new Uint8Array(shared), byteLength, how, slotOf);
}
