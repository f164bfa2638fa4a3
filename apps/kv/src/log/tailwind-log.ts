import { Buffer } from 'node:buffer';
import type { EntryLocation, Log, LogEntry } from '@rdmc/tailwind';
import type { CommitLog, CommitTicket } from './commit-log.js';

/** A replicated log as the store sees it. */
export class TailwindLog implements CommitLog {
  constructor(
    private readonly log: Log,
    readonly replicas: number,
  ) {}

  get maxAppendBytes(): number {
    return this.log.maxAppendBytes;
  }

  get ended(): AbortSignal {
    return this.log.signal;
  }

  get usage(): CommitLog['usage'] {
    return this.log.stats();
  }

  get isShort(): boolean {
    return this.log.isShort;
  }

  append(entries: readonly LogEntry[]): CommitTicket {
    return this.log.append(...entries);
  }

  appendRun(pieces: readonly Uint8Array[]): CommitTicket {
    return this.log.appendRun(pieces);
  }

  memory(segmentId: bigint): Buffer | undefined {
    const bytes = this.log.segmentBytes(segmentId);
    return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  dead(location: EntryLocation): void {
    this.log.dead(location);
  }
}
