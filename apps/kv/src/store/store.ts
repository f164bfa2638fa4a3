import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { SerialQueue } from '@rdmc/common';
import { KvError } from '../errors.js';
import { FORGET_STEP_KEYS } from '../limits.js';
import type { CommitLog } from '../log/commit-log.js';
import { Adopted } from './adopted.js';
import { type FieldChange, undoChange } from './changes.js';
import { Entry, NO_EXPIRY } from './entry.js';
import { supersedes } from './fallback.js';
import { Hash, type KeyEntry, type KeyValue } from './hash.js';
import type { Keyspace } from './keyspace.js';
import {
  encodeField,
  encodeFieldRemoval,
  encodeHead,
  encodeKeyObject,
  encodeKeyRemoval,
  fieldBytes,
  fieldRemovalBytes,
  headBytes,
  objectBytes,
  removalBytes,
} from './record.js';
import { type AppendFollower, SentAppends, type StoreListener } from './sent-appends.js';
import { Separation } from './separation.js';
import { tooLarge } from './too-large.js';
import { AppendOverflow, TurnAppends } from './turn-appends.js';

/**
 * The keys of this server over its log. A write changes the index at once and joins the turn's append, which `commit`
 * sends; until that is acknowledged no reply may depend on it, of the writer or of a reader. Every entry has the
 * number of its append, and appends are acknowledged in order, so one number decides which replies may be sent.
 *
 * Before a write that does not fit into the append, a new one begins: a turn makes as many as its writes need, and a
 * write is refused only where it does not fit into an append of its own. `together` reserves room in one append, and
 * `atomically` keeps writes in one whose size is not known before. While the log is short of room, removals have appends of
 * their own: see `Separation`.
 */
export class Store {
  /** Versions of two stores cannot be compared: this tells them apart. */
  readonly id = randomBytes(6).toString('hex');
  readonly #maxAppendBytes: number;
  #lastVersion = 0;
  readonly #turn = new TurnAppends();
  readonly separation: Separation;
  readonly #fate: SentAppends;
  readonly #forgetting = new SerialQueue();

  constructor(
    readonly keyspace: Keyspace,
    private readonly log: CommitLog,
  ) {
    this.#maxAppendBytes = log.maxAppendBytes;
    keyspace.readFrom(log);
    this.separation = new Separation(keyspace, this.#turn);
    this.#fate = new SentAppends(keyspace, log, this.#turn);
  }

  /** Tells the listener of each append from now on. */
  subscribe(listener: StoreListener): void {
    this.#fate.subscribe(listener);
  }

  /** Calls the listener with the time that each append waits for its acknowledgement, in milliseconds. */
  onAppendWait(listener: (ms: number) => void): void {
    this.#fate.onWait = listener;
  }

  /** All appends up to this one are acknowledged. */
  get acknowledged(): number {
    return this.keyspace.acknowledged;
  }

  /** Resolves when an append is acknowledged; rejects when the log ends before. */
  whenAcknowledged(sequence: number): Promise<void> {
    return this.#fate.whenAcknowledged(sequence);
  }

  /** Milliseconds that writes have waited for their acknowledgement, of all writes together. */
  get waitedMs(): number {
    return this.#fate.waitedMs;
  }

  /** Appends that the log has not acknowledged, and for how long the oldest one has waited. */
  get lag(): SentAppends['lag'] {
    return this.#fate.lag;
  }

  /** Aborted, with the reason, when the log has ended: this store takes no write any more. */
  get ended(): AbortSignal {
    return this.log.ended;
  }

  get replicas(): number {
    return this.log.replicas;
  }

  get usage(): CommitLog['usage'] {
    return this.log.usage;
  }

  /** The number of the last append of the writes that were not committed yet; there must be one. */
  get lastSequence(): number {
    return this.#turn.lastSequence;
  }

  /** The number of the first append of the writes that were not committed yet. */
  get firstSequence(): number {
    return this.#turn.firstSequence;
  }

  /** Bytes of the writes that were not committed yet, as the log counts them. */
  get batchBytes(): number {
    return this.#turn.bytes;
  }

  /** All entries so far have versions up to this one, later ones have higher versions. */
  get lastVersion(): number {
    return this.#lastVersion;
  }

  /**
   * Takes slots out of the index, without a write: their entries in the log are garbage, and a recovery must not replay them
   * for a tenure that begins later. Nobody may write to these slots meanwhile. Resolves when that is done; other work has turns.
   * @throws the reason for which the log has ended
   */
  forget(ranges: readonly (readonly [number, number])[]): Promise<void> {
    // One at a time: a slot that was forgotten may be written again.
    return this.#forgetting.run(() => this.#forget(ranges));
  }

  /** Has the follower hear of each append; undefined: nobody does. */
  follow(follower: AppendFollower | undefined): void {
    this.#fate.follower = follower;
  }

  /**
   * Sends the turn's writes to the log; resolves when the appends so far are acknowledged or refused.
   * @throws the reason for which the log has ended
   */
  settled(): Promise<void> {
    return this.#fate.settled();
  }

  async #forget(ranges: readonly (readonly [number, number])[]): Promise<void> {
    // An append that is refused later would bring entries back.
    await this.#fate.settled();
    let keys = 0;
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot += 1) {
        for (const key of this.keyspace.keys(slot)) {
          const entry = this.keyspace.delete(slot, key);
          if (entry) this.#fate.forget(entry);
          keys += 1;
          if (keys % FORGET_STEP_KEYS !== 0) continue;
          await turn();
          // The memory of a log that has ended may be gone.
          this.log.ended.throwIfAborted();
        }
        this.keyspace.forgetOrder(slot);
      }
    }
  }

  /** A turn begins, or goes on: removals are kept apart from other writes from now on where the log is short of room. */
  beginTurn(): void {
    const { isShort } = this.log;
    if (isShort === this.#turn.isApart) return;
    this.#turn.advance();
    this.#turn.isApart = isShort;
  }

  /** Versions that come must be above this. */
  raiseVersion(version: number): void {
    if (version > this.#lastVersion) this.#lastVersion = version;
  }

  /** The entry of a key at a time. Removes an expired key, so that it is not found again when a clock is set back. */
  find(slot: number, key: string, nowMs: number): KeyEntry | undefined {
    return this.#alive(slot, key, nowMs, this.keyspace.get(slot, key));
  }

  /** The same for callers that do not need the text: a string may be an empty one. */
  peek(slot: number, key: string, nowMs: number): KeyEntry | undefined {
    return this.#alive(slot, key, nowMs, this.keyspace.peek(slot, key));
  }

  #alive(slot: number, key: string, nowMs: number, entry: KeyEntry | undefined): KeyEntry | undefined {
    if (entry) this.separation.reads(entry.sequence);
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
    this.#place(false);
    this.#lastVersion += 1;
    const after = new Entry(value, this.#lastVersion, expiresAt, this.#turn.sequence);
    const before = this.keyspace.set(slot, key, after);
    const entry = encodeKeyObject({ key, version: after.version, value, expiresAt });
    this.#turn.add({ slot, key, before, after }, entry, bytes);
    return after;
  }

  /** Leaves an entry without a value; the key must have one. */
  remove(slot: number, key: string): KeyEntry {
    const bytes = removalBytes(key.length);
    if (this.#turn.isApart) this.separation.removes(this.keyspace.peek(slot, key));
    this.#reserve(bytes);
    this.#place(true);
    this.#lastVersion += 1;
    const after = new Entry<KeyValue>(undefined, this.#lastVersion, NO_EXPIRY, this.#turn.sequence);
    const before = this.keyspace.set(slot, key, after);
    const entry = encodeKeyRemoval(key, after.version, before?.segmentId ?? 0n);
    this.#turn.add({ slot, key, before, after }, entry, bytes);
    return after;
  }

  /** Gives a key another expiry, and the same value. @throws as `put` */
  retime(slot: number, key: string, value: KeyValue, expiresAt: number): KeyEntry {
    if (typeof value === 'string') return this.put(slot, key, value, expiresAt);
    return this.#putHead(slot, key, value, expiresAt);
  }

  /** Replaces the value of the key by an empty hash. A field must follow in the same append. @throws as `put` */
  putHash(slot: number, key: string, expiresAt: number): Hash {
    const hash = new Hash(this.#lastVersion + 1);
    this.#putHead(slot, key, hash, expiresAt);
    return hash;
  }

  /** @throws as `put` */
  putField(hash: Hash, key: string, field: string, value: string): Entry {
    const bytes = fieldBytes(key.length, field.length, value.length);
    this.#reserve(bytes, Math.max(bytes, fieldRemovalBytes(key.length, field.length)));
    this.#place(false);
    const change = this.#change(hash, field, value);
    this.#turn.add(change, encodeField(key, field, hash.version, value), bytes);
    return change.after;
  }

  /** The field must have a value, and another field of the hash too: a hash is not empty. */
  removeField(hash: Hash, key: string, field: string): Entry {
    const bytes = fieldRemovalBytes(key.length, field.length);
    if (this.#turn.isApart) this.separation.removesField(hash);
    this.#reserve(bytes);
    this.#place(true);
    const segmentId = hash.get(field)?.segmentId ?? 0n;
    const change = this.#change(hash, field, undefined);
    this.#turn.add(change, encodeFieldRemoval(key, field, hash.version, segmentId), bytes);
    return change.after;
  }

  /**
   * The next writes are in one append: after a failure all of them are stored, or none.
   * @param bytes the sum of what `record.ts` says of each
   * @throws KvError ERR_RDMC_ENTRY_TOO_LARGE: no append of the log has room for it
   */
  together(bytes: number): void {
    this.#reserve(bytes);
  }

  /**
   * All writes of `work` are in one append. `work` runs a second time, alone in an append, where they do not fit behind
   * those of others; the writes of the first time are then undone.
   * @param undone called when writes were undone: no reply may wait for them
   * @throws KvError ERR_RDMC_ENTRY_TOO_LARGE: no append has room for them; what `work` throws. Then nothing was changed
   */
  atomically(work: () => void, undone: () => void): void {
    // Whether these are removals only shows at their end.
    if (this.#turn.isApart) this.#turn.advance();
    if (this.#isWhole(work, undone)) return;
    this.#turn.advance();
    if (this.#isWhole(work, undone)) return;
    throw new KvError(
      'ERR_RDMC_ENTRY_TOO_LARGE',
      `the writes of a transaction are over the limit of ${this.#maxAppendBytes} bytes of keys, values and headers of the ` +
        'log (a quarter of a log segment); nothing was done',
    );
  }

  /**
   * Takes strings of another log over, in an append of their own behind the turn's writes: `fill` adds them, at once. They get
   * versions of this store. Resolves when the append is acknowledged.
   * @param origin identifies the takeover that they come from; each key occurs once in it
   * @throws the log's error; then the strings are not here
   */
  async adopt(origin: symbol, fill: (adopted: Adopted) => void): Promise<void> {
    const earlier = this.commit();
    if (earlier !== undefined) throw earlier;
    const { sequence } = this.#turn;
    const { keyspace } = this;
    const nextVersion = (): number => {
      this.#lastVersion += 1;
      return this.#lastVersion;
    };
    const maxAppendBytes = this.#maxAppendBytes;
    const adopted = new Adopted({ keyspace, sequence, origin, nextVersion, maxAppendBytes });
    try {
      fill(adopted);
    } catch (error) {
      adopted.undo();
      throw error;
    }
    if (adopted.bytes === 0) return;
    const error = this.#fate.send([this.#turn.whole(adopted)]);
    if (error !== undefined) throw error;
    await this.whenAcknowledged(sequence);
  }

  /** Sends the turn's writes to the log. Returns the log's error where it refuses writes: these did not happen. */
  commit(): unknown {
    return this.#fate.send(this.#turn.take());
  }

  #putHead(slot: number, key: string, hash: Hash, expiresAt: number): KeyEntry {
    const bytes = headBytes(key.length, expiresAt);
    this.#reserve(bytes, Math.max(bytes, removalBytes(key.length)));
    this.#place(false);
    this.#lastVersion += 1;
    const after = new Entry<KeyValue>(hash, this.#lastVersion, expiresAt, this.#turn.sequence);
    const before = this.keyspace.set(slot, key, after);
    const entry = encodeHead({ key, version: after.version, value: hash.generation, expiresAt });
    this.#turn.add({ slot, key, before, after }, entry, bytes);
    return after;
  }

  #change(hash: Hash, field: string, value: string | undefined): FieldChange {
    const { sequence, version } = hash;
    this.#lastVersion += 1;
    const after = new Entry(value, this.#lastVersion, NO_EXPIRY, this.#turn.sequence);
    const before = hash.set(field, after);
    supersedes(after, before, this.keyspace.acknowledged);
    hash.version = after.version;
    hash.sequence = after.sequence;
    return { hash, field, before, after, sequence, version };
  }

  /** Runs `work`, whose writes must all be in the append that is being filled; false: they did not fit, and are undone. */
  #isWhole(work: () => void, undone: () => void): boolean {
    const { mark } = this.#turn;
    this.#turn.isWhole = true;
    try {
      work();
      return true;
    } catch (error) {
      const taken = this.#turn.takeSince(mark);
      for (const change of taken.changes.toReversed()) undoChange(this.keyspace, change);
      this.#fate.follower?.undone(taken);
      this.separation.undone();
      undone();
      if (error instanceof AppendOverflow) return false;
      throw error;
    } finally {
      this.#turn.isWhole = false;
    }
  }

  #place(isRemoval: boolean): void {
    if (this.#turn.isApart) this.separation.place(isRemoval);
  }

  /** Room for so many bytes in one append; `least` is what an append must have room for. */
  #reserve(bytes: number, least = bytes): void {
    if (least > this.#maxAppendBytes) throw tooLarge(least, this.#maxAppendBytes);
    this.#turn.reserve(bytes, this.#maxAppendBytes);
  }
}
