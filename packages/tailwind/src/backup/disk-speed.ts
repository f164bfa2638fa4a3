import { randomFillSync } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  FLUSH_SPEED_MIN_BYTES,
  FLUSH_SPEED_MIN_FLUSHES,
  FLUSH_SPEED_WINDOW,
  MEASURE_CHUNK_BYTES,
  MEASURE_MS,
} from '../constants.js';
import { UNFINISHED } from '../storage/replica-store.js';

/** A file of a measurement. */
export interface MeasuredFile {
  write(bytes: Uint8Array): Promise<unknown>;
  /** Resolves when what was written is durable. */
  sync(): Promise<void>;
  /** Closes and removes it. */
  remove(): Promise<void>;
}

/** What is measured. */
export interface MeasuredDisk {
  create(stream: number): Promise<MeasuredFile>;
  /** Milliseconds. */
  now(): number;
}

/** The disk of a backup's directory. Files of a measurement that was interrupted are removed when the directory is opened. */
export function diskOf(directory: string): MeasuredDisk {
  return {
    now: () => performance.now(),
    create: async (stream) => {
      const path = join(directory, `measure-${stream}${UNFINISHED}`);
      const file = await open(path, 'w', 0o600);
      return {
        write: (bytes) => file.write(bytes),
        sync: () => file.datasync(),
        remove: async () => {
          await file.close();
          await rm(path, { force: true });
        },
      };
    },
  };
}

/**
 * The bytes per second that so many streams write durably, all together. Each writes a piece, waits until it is durable, and goes on
 * for a while, up to the size of a segment.
 */
export async function measureDisk(
  disk: MeasuredDisk,
  streams: number,
  segmentBytes: number,
): Promise<number> {
  const files: MeasuredFile[] = [];
  try {
    for (let stream = 0; stream < streams; stream += 1) files.push(await disk.create(stream));
    const piece = new Uint8Array(Math.min(MEASURE_CHUNK_BYTES, segmentBytes));
    // A disk that compresses is not faster for it.
    randomFillSync(piece);
    const begun = disk.now();
    const written = await Promise.all(
      files.map(async (file) => {
        let bytes = 0;
        do {
          await file.write(piece);
          await file.sync();
          bytes += piece.length;
        } while (bytes < segmentBytes && disk.now() - begun < MEASURE_MS);
        return bytes;
      }),
    );
    const bytes = written.reduce((sum, each) => sum + each, 0);
    return bytes / Math.max(0.001, (disk.now() - begun) / 1000);
  } finally {
    await Promise.all(files.map((file) => file.remove()));
  }
}

/** The speed of the last flushes of a backup, which happen one at a time. */
export class FlushSpeed {
  readonly #last: { readonly bytes: number; readonly ms: number }[] = [];

  /** Small ones tell more of the latency than of the speed. */
  record(bytes: number, ms: number): void {
    if (bytes < FLUSH_SPEED_MIN_BYTES) return;
    this.#last.push({ bytes, ms });
    if (this.#last.length > FLUSH_SPEED_WINDOW) this.#last.shift();
  }

  /** Undefined: there were too few. */
  get bytesPerSecond(): number | undefined {
    if (this.#last.length < FLUSH_SPEED_MIN_FLUSHES) return undefined;
    const bytes = this.#last.reduce((sum, each) => sum + each.bytes, 0);
    const ms = this.#last.reduce((sum, each) => sum + each.ms, 0);
    return (bytes * 1000) / Math.max(1, ms);
  }
}
