import type { Certificate } from '../format/scan.js';
import type { ScanAnswer, ScanJob } from '../scanner/scan-job.js';
import { Scanner } from '../scanner/scanner.js';
import type { ReplicaStore } from '../storage/replica-store.js';
import type { Replica } from './replica.js';

/** Scans replicas in threads, from their buffers or from their files. */
export class ReplicaScanner {
  readonly #scanner = new Scanner();

  constructor(private readonly store: ReplicaStore) {}

  scan({ record, buffer }: Replica, certificate: Certificate | undefined): Promise<ScanAnswer> {
    const { byteLength, floorBytes, logId, segmentId, incarnation } = record;
    const source: ScanJob['source'] = buffer
      ? { shared: sharedCopy(buffer.view(0, record.segmentBytes)) }
      : { path: this.store.pathOf(record), byteLength };
    return this.#scanner.scan({
      source,
      identity: { logId, segmentId, incarnation },
      certificate,
      floorBytes,
    });
  }

  close(): Promise<void> {
    return this.#scanner.close();
  }
}

/** Buffers belong to peers and to the pool, so threads scan a copy. */
function sharedCopy(bytes: Uint8Array): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  return shared;
}
