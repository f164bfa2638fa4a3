import type { LogEntry } from '@rdmc/tailwind';
import type { CommitLog, CommitTicket } from './commit-log.js';

const DONE: CommitTicket = { location: undefined, acknowledged: undefined };
const MAX_APPEND_BYTES = 2 * 1024 * 1024;

/** No replication: writes are acknowledged at once, and are lost with the process. */
export class NoLog implements CommitLog {
  readonly replicas = 0;
  readonly maxAppendBytes = MAX_APPEND_BYTES;
  readonly ended: AbortSignal = new AbortController().signal;
  readonly isShort = false;
  readonly usage = { bytes: 0, liveBytes: 0, segments: 0, limitBytes: Number.POSITIVE_INFINITY };

  append(_entries: readonly LogEntry[]): CommitTicket {
    return DONE;
  }

  appendRun(_pieces: readonly Uint8Array[]): CommitTicket {
    return DONE;
  }

  memory(): undefined {
    return undefined;
  }

  dead(): void {}
}
