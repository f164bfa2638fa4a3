import { codeOf, KvError, messageOf } from '../errors.js';
import type { CommitLog, CommitTicket } from '../log/commit-log.js';
import { Entry, NO_EXPIRY } from './entry.js';
import type { Keyspace } from './keyspace.js';
import { encodeKeyObject, encodeKeyRemoval, objectBytes, removalBytes } from './record.js';
import { type Append, type Change, TurnAppends } from './turn-appends.js';

/** Hears of the appends' outcomes. */
export interface StoreListener {
  /** Replies up to this append may be sent. */
  acknowledged(sequence: number): void;
  /** The log refused this append: its writes did not happen. */
  refused(sequence: number, code: string, message: string): void;
}

/**
 * The keys of this server over its log. A write changes the index at once and joins the turn's append, which `commit`
 * sends; until that is acknowledged no reply may depend on it, of the writer or of a reader. Every entry has the
 * number of its append, and appends are acknowledged in order, so one number decides which replies may be sent.
 *
 * Before a write that does not fit into the append, a new one begins: a turn makes as many as its writes need, and a
 * write is refused only where it does not fit into an append of its own. `together` reserves room in one append.
 */
export class Store {
  readonly #maxAppendBytes: number;
  #lastVersion = 0;
  readonly #turn = new TurnAppends();
  /** Appends that are not acknowledged, in order. */
  #outstanding: Append[] = [];
  #waiting: { sequence: number; resolve: () => void; reject: (reason: unknown) => void }[] = [];
  readonly #listeners: StoreListener[] = [];

  constructor(
    readonly keyspace: Keyspace,
    private readonly log: CommitLog,
  ) {
    this.#maxAppendBytes = log.maxAppendBytes;
    const onEnd = (): void => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const { reject } of waiting) reject(log.ended.reason);
    };
    log.ended.addEventListener('abort', onEnd, { once: true });
  }

  /** Tells the listener of each append from now on. */
  subscribe(listener: StoreListener): void {
    this.#listeners.push(listener);
  }

  /** All appends up to this one are acknowledged. */
  get acknowledged(): number {
    return this.keyspace.acknowledged;
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

  /** The number of the append that the next small write joins. */
  get sequence(): number {
    return this.#turn.sequence;
  }

  /** The number of the first append of the writes that were not committed yet. */
  get firstSequence(): number {
    return this.#turn.firstSequence;
  }

  /** Bytes of the writes that were not committed yet, as the log counts them. */
  get batchBytes(): number {
    return this.#turn.bytes;
  }

  /** Versions that come must be above this. */
  raiseVersion(version: number): void {
    if (version > this.#lastVersion) this.#lastVersion = version;
  }

  /** The entry of a key at a time. Removes an expired key, so that it is not found again when a clock is set back. */
  find(slot: number, key: string, nowMs: number): Entry | undefined {
    const entry = this.keyspace.get(slot, key);
    if (!entry || entry.expiresAt === NO_EXPIRY || entry.expiresAt > nowMs || entry.value === undefined)
      return entry;
    return this.remove(slot, key);
  }

  /** @throws KvError ERR_RDMC_ENTRY_TOO_LARGE: no append of the log has room for it; then nothing was changed */
  put(slot: number, key: string, value: string, expiresAt: number): Entry {
    const bytes = objectBytes(key.length, value.length, expiresAt);
    // A key that cannot be removed must not be stored.
    const removal = removalBytes(key.length);
    this.#reserve(bytes, Math.max(bytes, removal));
    this.#lastVersion += 1;
    const after = new Entry(value, this.#lastVersion, expiresAt, this.#turn.sequence);
    const before = this.keyspace.set(slot, key, after);
    const entry = encodeKeyObject({ key, version: after.version, value, expiresAt });
    this.#turn.add({ slot, key, before, after }, entry, bytes);
    return after;
  }

  /** Leaves an entry without a value; the key must have one. */
  remove(slot: number, key: string): Entry {
    const bytes = removalBytes(key.length);
    this.#reserve(bytes);
    this.#lastVersion += 1;
    const after = new Entry(undefined, this.#lastVersion, NO_EXPIRY, this.#turn.sequence);
    const before = this.keyspace.set(slot, key, after);
    const entry = encodeKeyRemoval(key, after.version, before?.location?.segmentId ?? 0n);
    this.#turn.add({ slot, key, before, after }, entry, bytes);
    return after;
  }

  /**
   * The next writes are in one append: after a failure all of them are stored, or none.
   * @param bytes the sum of `objectBytes` of all of it
   * @throws KvError ERR_RDMC_ENTRY_TOO_LARGE: no append of the log has room for it
   */
  together(bytes: number): void {
    this.#reserve(bytes);
  }

  /** Sends the turn's writes to the log. Returns the log's error where it refuses writes: these did not happen. */
  commit(): unknown {
    const appends = this.#turn.take();
    for (let index = 0; index < appends.length; index += 1) {
      const error = this.#send(appends[index]!);
      if (error === undefined) continue;
      // Later appends may depend on it.
      for (let last = appends.length - 1; last >= index; last -= 1) this.#undo(appends[last]!, error);
      return error;
    }
    return undefined;
  }

  /** Returns the log's error where it refuses the append. */
  #send(append: Append): unknown {
    let ticket: CommitTicket;
    try {
      ticket = this.log.append(append.entries);
    } catch (error) {
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

  /** Room for so many bytes in one append; `least` is what an append must have room for. */
  #reserve(bytes: number, least = bytes): void {
    if (least > this.#maxAppendBytes) throw tooLarge(least, this.#maxAppendBytes);
    this.#turn.reserve(bytes, this.#maxAppendBytes);
  }

  /**
   * The log refused an append that waited for room: it did not happen, nor did the appends behind it, nor may the turn's
   * writes that depend on them. Where the log has ended the append may have happened; `Executor.logEnded` reports that.
   */
  #refused({ sequence }: Append, error: unknown): void {
    if (this.log.ended.aborted) return;
    const refused = this.#outstanding.filter((append) => append.sequence >= sequence);
    if (refused.length === 0) return;
    this.#outstanding = this.#outstanding.filter((append) => append.sequence < sequence);
    refused.push(...this.#turn.take());
    for (const append of refused.reverse()) this.#undo(append, error);
    const waiting = this.#waiting.filter((waiter) => waiter.sequence >= sequence);
    this.#waiting = this.#waiting.filter((waiter) => waiter.sequence < sequence);
    for (const { reject } of waiting) reject(error);
  }

  /** Entries are superseded only by entries in the log. */
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
    this.keyspace.acknowledged = sequence;
    for (const { slot, key, after } of changes) {
      if (after.value === undefined && this.keyspace.get(slot, key) === after)
        this.keyspace.delete(slot, key);
    }
    for (const listener of this.#listeners) listener.acknowledged(sequence);
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
    for (const listener of this.#listeners) listener.refused(sequence, codeOf(error), messageOf(error));
  }
}

function tooLarge(bytes: number, most: number): KvError {
  return new KvError(
    'ERR_RDMC_ENTRY_TOO_LARGE',
    `${bytes} bytes of keys, values and headers of the log are over the limit of ${most} ` +
      '(a quarter of a log segment); nothing was done',
  );
}
