import { codeOf, messageOf } from '../errors.js';
import type { CommitLog, CommitTicket } from '../log/commit-log.js';
import { AppendWaiters } from './append-waiters.js';
import { settleChange, undoChange } from './changes.js';
import type { KeyEntry, KeyValue } from './hash.js';
import type { Keyspace } from './keyspace.js';
import { locationAt } from './packed-append.js';
import type { Append, TurnAppends } from './turn-appends.js';

/** Hears of the appends' outcomes. */
export interface StoreListener {
  /** Replies up to this append may be sent. */
  acknowledged(sequence: number): void;
  /** The log refused this append: its writes did not happen. */
  refused(sequence: number, code: string, message: string): void;
}

/** Hears of each append with its entries: a hand-over of slots sends them on. */
export interface AppendFollower {
  /** The log has acknowledged the append. */
  settled(append: Append): void;
  /** Its writes did not happen, and are undone; also those of a transaction that was never sent. */
  undone(append: Append): void;
}

/** The appends that the log got, until it has acknowledged or refused them. */
export class SentAppends {
  /** In order. */
  #outstanding: Append[] = [];
  /** That of the last append in `#outstanding`. */
  #lastTicket: CommitTicket | undefined;
  readonly #waiters = new AppendWaiters();
  readonly #listeners: StoreListener[] = [];
  follower: AppendFollower | undefined;
  /** Called with the time from an append to its acknowledgement; not where the log acknowledges at once. */
  onWait: ((ms: number) => void) | undefined;
  #waitedMs = 0;

  constructor(
    private readonly keyspace: Keyspace,
    private readonly log: CommitLog,
    /** The writes that were not sent yet: they may depend on an append that is refused. */
    private readonly turn: TurnAppends,
  ) {
    const onEnd = (): void => this.#waiters.refused(0, log.ended.reason);
    log.ended.addEventListener('abort', onEnd, { once: true });
  }

  /** Tells the listener of each append from now on. */
  subscribe(listener: StoreListener): void {
    this.#listeners.push(listener);
  }

  /** Resolves when an append is acknowledged; rejects when it is refused, or the log ends before. */
  whenAcknowledged(sequence: number): Promise<void> {
    if (sequence <= this.keyspace.acknowledged) return Promise.resolve();
    if (this.log.ended.aborted) return Promise.reject(this.log.ended.reason);
    return this.#waiters.wait(sequence);
  }

  /**
   * Time that writes have waited for the acknowledgement of their append, in milliseconds: the sum over all writes, so that
   * it is a share of the time of their clients.
   */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** Number of appends that are not acknowledged, and for how long the oldest one has waited. */
  get lag(): { readonly appends: number; readonly oldestMs: number } {
    const [oldest] = this.#outstanding;
    return {
      appends: this.#outstanding.length,
      oldestMs: oldest === undefined ? 0 : Math.max(0, performance.now() - oldest.sentAt),
    };
  }

  /**
   * Resolves when the appends so far, and the turn's writes, are acknowledged or refused.
   * @throws the reason for which the log has ended
   */
  async settled(): Promise<void> {
    this.send(this.turn.take());
    const last = this.#outstanding.at(-1)?.sequence ?? 0;
    // Where one is refused, some of the others may stay.
    for (let next = this.#lastUpTo(last); next; next = this.#lastUpTo(last)) {
      await this.whenAcknowledged(next.sequence).catch(() => {});
      this.log.ended.throwIfAborted();
    }
    this.log.ended.throwIfAborted();
  }

  /** The entry leaves the index, and its place in the log is garbage. */
  forget(entry: KeyEntry): void {
    this.#supersede(entry, undefined);
  }

  /** Sends the turn's writes to the log. Returns the log's error where it refuses writes: these did not happen. */
  send(appends: readonly Append[]): unknown {
    for (let index = 0; index < appends.length; index += 1) {
      const error = this.#send(appends[index]!);
      if (error === undefined) continue;
      this.#sendBelow(Number.POSITIVE_INFINITY, this.#refuse(appends.slice(index), error));
      return error;
    }
    return undefined;
  }

  /** Sends the appends that are below a number, without those that the log refuses. Returns the others that stay. */
  #sendBelow(sequence: number, appends: readonly Append[]): readonly Append[] {
    let rest = appends;
    while (rest.length > 0 && rest[0]!.sequence < sequence) {
      const error = this.#send(rest[0]!);
      rest = error === undefined ? rest.slice(1) : this.#refuse(rest, error);
    }
    return rest;
  }

  /**
   * The first of these appends did not happen, nor did those that need it. Returns the others, which come after it. Their
   * acknowledgement must come later: a reply that waits for one that did not happen would be sent with it.
   */
  #refuse(appends: readonly Append[], error: unknown): Append[] {
    const refused = new Set<number>();
    const [undone, kept]: [Append[], Append[]] = [[], []];
    for (const append of appends) {
      const { sequence, needs } = append;
      if (refused.size > 0 && needs && !needs.some((need) => refused.has(need))) kept.push(append);
      else {
        refused.add(sequence);
        undone.push(append);
      }
    }
    for (const append of undone.reverse()) this.#undo(append, error);
    this.#waiters.refused(appends[0]!.sequence, error);
    return kept;
  }

  /** Returns the log's error where it refuses the append. */
  #send(append: Append): unknown {
    // The log has refused the appends before, and `#refused` is about to undo them: with room again it could take this one.
    // So it refuses removals, too, which are only sent here between two microtasks by a takeover.
    if (this.#lastTicket?.failure) return this.#lastTicket.failure;
    let ticket: CommitTicket;
    try {
      ticket = append.run ? this.log.appendRun(append.run.pieces) : this.log.append(append.entries);
    } catch (error) {
      return error;
    }
    this.#outstanding.push(append);
    this.#lastTicket = ticket;
    const placed = ticket.location !== undefined;
    if (placed) this.#place(append, ticket);
    if (!ticket.acknowledged) this.#settle(append);
    else {
      append.sentAt = performance.now();
      ticket.acknowledged.then(
        () => {
          if (!placed) this.#place(append, ticket);
          const waited = performance.now() - append.sentAt;
          this.#waitedMs += waited * append.changes.length;
          this.onWait?.(waited);
          this.#settle(append);
        },
        (error: unknown) => this.#refused(append, error),
      );
    }
    return undefined;
  }

  /**
   * The log refused an append that waited for room, and with it all that wait behind it: those of them that do not need it are
   * sent again. The turn's writes that need it must not be sent. Where the log has ended the append may have happened;
   * `Executor.logEnded` reports that.
   */
  #refused(append: Append, error: unknown): void {
    if (this.log.ended.aborted) return;
    const index = this.#outstanding.indexOf(append);
    if (index === -1) return;
    const sent = this.#outstanding.splice(index);
    this.#lastTicket = undefined;
    const turn = this.turn.take();
    // Copies: the refusals of the first attempts are still to come.
    const kept = this.#refuse([...sent, ...turn], error).map((again) => ({ ...again }));
    const first = turn[0]?.sequence ?? Number.POSITIVE_INFINITY;
    this.turn.putBack(this.#sendBelow(first, kept));
  }

  #lastUpTo(sequence: number): Append | undefined {
    return this.#outstanding.findLast((append) => append.sequence <= sequence);
  }

  /** Entries are superseded only by entries in the log. */
  #place({ changes, run }: Append, ticket: CommitTicket): void {
    const { location } = ticket;
    changes.forEach(({ before, after }, index) => {
      if (before) this.#supersede(before, after.value);
      if (!location) return;
      const place = locationAt(location, run ? run.positions[index]! : index);
      after.locate(place);
      if (after.stale && after.value !== undefined) this.log.dead(place);
    });
    if (location) run?.packed.placed(location, (place) => this.log.dead(place));
  }

  /** A hash that is not in the key any more takes its fields with it. */
  #supersede(entry: KeyEntry, by: KeyValue | undefined): void {
    entry.stale = true;
    const place = entry.value === undefined ? undefined : entry.location;
    if (place) this.log.dead(place);
    if (typeof entry.value !== 'object' || entry.value === by) return;
    for (const field of entry.value.all()) this.#supersede(field, undefined);
  }

  #settle(append: Append): void {
    const { changes, sequence } = append;
    this.#outstanding.shift();
    // It has the bytes of the append.
    if (this.#outstanding.length === 0) this.#lastTicket = undefined;
    this.keyspace.acknowledged = sequence;
    for (const change of changes) settleChange(this.keyspace, change);
    append.run?.packed.settled(this.keyspace);
    this.follower?.settled(append);
    for (const listener of this.#listeners) listener.acknowledged(sequence);
    this.#waiters.acknowledged(sequence);
  }

  #undo(append: Append, error: unknown): void {
    const { changes, sequence } = append;
    for (let i = changes.length - 1; i >= 0; i -= 1) undoChange(this.keyspace, changes[i]!);
    append.run?.packed.undo(this.keyspace);
    this.follower?.undone(append);
    for (const listener of this.#listeners) listener.refused(sequence, codeOf(error), messageOf(error));
  }
}
