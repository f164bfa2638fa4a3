import type { LogEntry } from '@rdmc/tailwind';
import { codeOf, messageOf } from '../errors.js';
import type { CommitLog, CommitTicket } from '../log/commit-log.js';
import { Entry, NO_EXPIRY } from './entry.js';
import { Keyspace } from './keyspace.js';
import { encodeKeyObject, encodeKeyRemoval } from './record.js';

/** What the log says before every entry: header, version, length of the key, kind and expiry. */
const ENTRY_OVERHEAD_BYTES = 12 + 16 + 9;

interface Change {
  readonly slot: number;
  readonly key: string;
  readonly before: Entry | undefined;
  readonly after: Entry;
}

interface Append {
  readonly sequence: number;
  readonly changes: readonly Change[];
  readonly entries: readonly LogEntry[];
}

/** What happens to the writes of a turn. */
export interface StoreListener {
  /** Everything up to this sequence number may be told. */
  acknowledged(sequence: number): void;
  /** The writes under this number did not happen. */
  refused(sequence: number, code: string, message: string): void;
}

/**
 * The keys of this server over its log. A write changes the index at once and joins the turn's append, which `commit`
 * sends; until that is acknowledged nobody may be told of it, neither the writer nor a reader: every entry carries the
 * number of its append, appends are acknowledged in order, so one number says what may be told.
 */
export class Store {
  readonly keyspace = new Keyspace();
  /** The number of the append that is being filled. */
  sequence = 1;
  /** What of it is acknowledged. */
  acknowledged = 0;
  #lastVersion = 0;
  #changes: Change[] = [];
  #entries: LogEntry[] = [];
  /** Appends that are not acknowledged, in order. */
  #outstanding: Append[] = [];
  #bytes = 0;
  #waiting: { sequence: number; resolve: () => void; reject: (reason: unknown) => void }[] = [];
  listener: StoreListener = { acknowledged() {}, refused() {} };

  constructor(private log: CommitLog) {}

  /** The log that comes to be later than the store; before it nothing may be written. */
  attach(log: CommitLog): void {
    this.log = log;
    const onEnd = (): void => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const { reject } of waiting) reject(log.ended.reason);
    };
    log.ended.addEventListener('abort', onEnd, { once: true });
  }

  /** Resolves when an append is acknowledged; rejects when the log ends before. */
  whenAcknowledged(sequence: number): Promise<void> {
    if (sequence <= this.acknowledged) return Promise.resolve();
    if (this.log.ended.aborted) return Promise.reject(this.log.ended.reason);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, resolve, reject });
    });
  }

  get replicas(): number {
    return this.log.replicas;
  }

  get usage(): CommitLog['usage'] {
    return this.log.usage;
  }

  get maxAppendBytes(): number {
    return this.log.maxAppendBytes;
  }

  /** Bytes of the append that is being filled, by estimate. */
  get batchBytes(): number {
    return this.#bytes;
  }

  /** Versions that come must be above this. */
  raiseVersion(version: number): void {
    if (version > this.#lastVersion) this.#lastVersion = version;
  }

  /** What a key holds at a time, and removes it where it has expired: then nobody finds it again, whatever clocks do. */
  find(slot: number, key: string, nowMs: number): Entry | undefined {
    const entry = this.keyspace.get(slot, key);
    if (!entry || entry.expiresAt === NO_EXPIRY || entry.expiresAt > nowMs || entry.value === undefined)
      return entry;
    return this.remove(slot, key);
  }

  put(slot: number, key: string, value: string, expiresAt: number): Entry {
    this.#lastVersion += 1;
    return this.#change(slot, key, new Entry(value, this.#lastVersion, expiresAt, this.sequence));
  }

  /** Leaves an entry without a value; the key must hold something. */
  remove(slot: number, key: string): Entry {
    this.#lastVersion += 1;
    return this.#change(slot, key, new Entry(undefined, this.#lastVersion, NO_EXPIRY, this.sequence));
  }

  /** Sends the turn's writes to the log. What the log refuses did not happen; its error is returned. */
  commit(): unknown {
    if (this.#changes.length === 0) return undefined;
    const append = this.#takeAppend();
    let ticket: CommitTicket;
    try {
      ticket = this.log.append(append.entries);
    } catch (error) {
      this.#undo(append, error);
      return error;
    }
    this.#outstanding.push(append);
    const placed = ticket.locations !== undefined;
    if (placed) this.#place(append.changes, ticket.locations);
    if (!ticket.acknowledged) this.#settle(append);
    else {
      ticket.acknowledged.then(
        () => {
          if (!placed) this.#place(append.changes, ticket.locations ?? []);
          this.#settle(append);
        },
        (error: unknown) => this.#refused(append, error),
      );
    }
    return undefined;
  }

  #takeAppend(): Append {
    const append = { sequence: this.sequence, changes: this.#changes, entries: this.#entries };
    this.#changes = [];
    this.#entries = [];
    this.#bytes = 0;
    this.sequence += 1;
    return append;
  }

  /**
   * An append that waited for room got none: it did not happen, nor did any that waits behind it, nor may what the turn
   * has built on them. Where the log has ended it may have happened, and whoever sees that end says so.
   */
  #refused({ sequence }: Append, error: unknown): void {
    if (this.log.ended.aborted) return;
    const refused = this.#outstanding.filter((append) => append.sequence >= sequence);
    if (refused.length === 0) return;
    this.#outstanding = this.#outstanding.filter((append) => append.sequence < sequence);
    if (this.#changes.length > 0) refused.push(this.#takeAppend());
    for (const append of refused.reverse()) this.#undo(append, error);
    const waiting = this.#waiting.filter((waiter) => waiter.sequence >= sequence);
    this.#waiting = this.#waiting.filter((waiter) => waiter.sequence < sequence);
    for (const { reject } of waiting) reject(error);
  }

  #change(slot: number, key: string, after: Entry): Entry {
    const before = this.keyspace.set(slot, key, after);
    this.#changes.push({ slot, key, before, after });
    const { value, version, expiresAt } = after;
    if (value === undefined)
      this.#entries.push(encodeKeyRemoval(key, version, before?.location?.segmentId ?? 0n));
    else this.#entries.push(encodeKeyObject({ key, version, value, expiresAt }));
    this.#bytes += key.length + (value?.length ?? 0) + ENTRY_OVERHEAD_BYTES;
    return after;
  }

  /** Entries are superseded only by what is in the log. */
  #place(changes: readonly Change[], locations: CommitTicket['locations']): void {
    changes.forEach(({ before, after }, index) => {
      if (before) this.#supersede(before);
      const location = locations?.[index];
      if (!location) return;
      after.location = location;
      if (after.stale && after.value !== undefined) this.log.dead(location);
    });
  }

  #supersede(entry: Entry): void {
    entry.stale = true;
    if (entry.location && entry.value !== undefined) this.log.dead(entry.location);
  }

  #settle({ changes, sequence }: Append): void {
    this.#outstanding.shift();
    this.acknowledged = sequence;
    for (const { slot, key, after } of changes) {
      if (after.value === undefined && this.keyspace.get(slot, key) === after)
        this.keyspace.delete(slot, key);
    }
    this.listener.acknowledged(sequence);
    if (this.#waiting.length === 0) return;
    const over = this.#waiting.filter((waiter) => waiter.sequence <= sequence);
    this.#waiting = this.#waiting.filter((waiter) => waiter.sequence > sequence);
    for (const { resolve } of over) resolve();
  }

  #undo({ changes, sequence }: Append, error: unknown): void {
    for (let i = changes.length - 1; i >= 0; i -= 1) {
      const { slot, key, before } = changes[i]!;
      const isSettled = !before || (before.value === undefined && before.sequence <= this.acknowledged);
      if (isSettled) this.keyspace.delete(slot, key);
      else this.keyspace.set(slot, key, before);
    }
    this.listener.refused(sequence, codeOf(error), messageOf(error));
  }
}
