import { type AppendLocation, EntryType, type LogEntry } from '@rdmc/tailwind';
import type { CommitLog, CommitTicket } from '../../src/log/commit-log.js';
import { logEntries } from '../../src/store/record.js';
import { EntryMemory } from './entry-memory.js';
import type { RecordedEntry } from './recorded-log.js';

interface Waiting {
  readonly entries: readonly LogEntry[];
  readonly ticket: { location: AppendLocation | undefined; acknowledged: Promise<void> };
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * A log that has room for removals only, or for some appends more. As the real one: an append behind one that waits for room waits
 * too, and all of them are refused together.
 */
export class ShortLog implements CommitLog {
  readonly replicas = 3;
  readonly maxAppendBytes = 1024 * 1024;
  readonly ended = new AbortController().signal;
  readonly usage = { bytes: 0, liveBytes: 0, segments: 0, limitBytes: 1e9 };
  isShort = true;
  /** Appends with a value that still get a place. */
  room = 0;
  /** A cleaner may make room: appends wait for it. */
  isCleaning = false;
  /** What has a place, in order. */
  readonly entries: RecordedEntry[] = [];
  /** Number of entries of each append that got a place. */
  readonly appends: number[] = [];
  readonly #memory = new EntryMemory();
  #queue: Waiting[] = [];
  #placed: Waiting[] = [];

  append(entries: readonly LogEntry[]): CommitTicket {
    const waiting = waitingOf(entries);
    if (this.#queue.length === 0 && this.#place(waiting)) return waiting.ticket;
    if (this.#queue.length === 0 && !this.isCleaning) throw full();
    this.#queue.push(waiting);
    return waiting.ticket;
  }

  appendRun(pieces: readonly Buffer[]): CommitTicket {
    return this.append([...logEntries(pieces)]);
  }

  memory(): Buffer {
    return this.#memory.bytes;
  }

  dead(): void {}

  /** The cleaner is done: what waits gets a place, or is refused. */
  cleaned(): void {
    this.isCleaning = false;
    while (this.#queue.length > 0 && this.#place(this.#queue[0]!)) this.#queue.shift();
    for (const { reject } of this.#queue.splice(0)) reject(full());
  }

  /** Acknowledges the next appends that have a place. */
  acknowledge(count: number): void {
    for (const { resolve } of this.#placed.splice(0, count)) resolve();
  }

  #place(waiting: Waiting): boolean {
    const { entries, ticket } = waiting;
    const isRemoval = entries.every(({ type }) => type === EntryType.TOMBSTONE);
    if (!isRemoval && this.room === 0) return false;
    if (!isRemoval) this.room -= 1;
    const offsets: number[] = [];
    for (const { type, parts } of entries) {
      const payload = Buffer.concat(parts);
      const offset = this.#memory.place(type, payload);
      offsets.push(offset);
      this.entries.push({ type, payload, location: { segmentId: 1n, offset } });
    }
    this.appends.push(entries.length);
    ticket.location = { segmentId: 1n, offsets };
    this.#placed.push(waiting);
    return true;
  }
}

function waitingOf(entries: readonly LogEntry[]): Waiting {
  let [resolve, reject]: [() => void, (error: Error) => void] = [() => {}, () => {}];
  const acknowledged = new Promise<void>((done, failed) => {
    [resolve, reject] = [done, failed];
  });
  acknowledged.catch(() => {});
  return { entries, ticket: { location: undefined, acknowledged }, resolve, reject };
}

function full(): Error {
  return Object.assign(new Error('no room'), { code: 'ERR_RDMC_LOG_FULL' });
}
