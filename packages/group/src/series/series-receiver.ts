import { Deferred, Fifo } from '@rdmc/common';
import { GroupError } from '../errors.js';
import type { Group } from '../group.js';
import type { ReceivedMessage } from '../received-message.js';
import { type SeriesGap, SeriesOrder } from './series-order.js';

/** What a receiver of a series gets, in the order of the numbers. */
export type SeriesItem =
  | {
      /** A message of a group of the series. */
      readonly type: 'message';
      /** In the series, from 0. */
      readonly number: number;
      /** Release it after use, as a message of a group. */
      readonly message: ReceivedMessage;
    }
  | ({
      /** Messages that this receiver does not get. */
      readonly type: 'gap';
    } & SeriesGap);

/** A group of the series, and the promise of its end. */
interface Run {
  readonly group: Group;
  readonly done: Deferred<void>;
}

/**
 * The receiving end of a series: one iterator over the messages of successive groups, whose members may differ. The application
 * makes the groups, with `first` (see `GroupOptions.first`), at all members. Each message is delivered once, in order; the
 * numbers of messages that this receiver does not get are named by an item `gap` in their place. A receiver that joins later
 * begins with the first message of its first group.
 *
 * Unless its groups have `delivery: 'stable'`, nothing is agreed on: after a failure, receivers may have different numbers of
 * messages. `GroupError.delivered` says which; `wedge` and `trim` are there for an agreement of the application's own.
 */
export class SeriesReceiver implements AsyncIterable<SeriesItem> {
  readonly #order = new SeriesOrder();
  readonly #runs = new Fifo<Run>();
  #current: Run | undefined;
  #news = new Deferred<void>();
  #isTaken = false;
  #hasEnded = false;
  #wedged: Deferred<void> | undefined;

  /** Numbers below it were delivered, or named as missing; undefined: before the first group. */
  get next(): number | undefined {
    return this.#order.next;
  }

  /**
   * The messages of the group are the next ones of the series, behind those of the groups before. Do not iterate over the group
   * itself. Resolves when the group has ended and all that it delivered was taken from the iterator.
   * @throws GroupError the error of the group, also when its messages were taken; ERR_RDMC_ROOT_RECEIVES_NOTHING at the root,
   *   ERR_RDMC_MANY_SENDERS, ERR_RDMC_GROUP_CLOSED after `end`
   */
  follow(group: Group): Promise<void> {
    try {
      group.assertOneSender();
    } catch (error) {
      return Promise.reject(error);
    }
    if (group.isRoot) {
      const text = `This node is the root of group ${group.id}; use a SeriesSender there`;
      return Promise.reject(new GroupError('ERR_RDMC_ROOT_RECEIVES_NOTHING', text));
    }
    if (this.#hasEnded) {
      return Promise.reject(new GroupError('ERR_RDMC_GROUP_CLOSED', 'The series has ended at this receiver'));
    }
    const run: Run = { group, done: new Deferred() };
    this.#runs.push(run);
    this.#tell();
    return run.done.promise;
  }

  /** Delivers nothing more until `trim`. Messages still arrive, up to the limit of a group without a reader. */
  wedge(): void {
    this.#wedged ??= new Deferred();
  }

  /**
   * Delivers again. Of the group whose messages are being delivered, no message with this number or a higher one is delivered:
   * those are in a gap, unless a later group brings them. Messages that were delivered stay so.
   */
  trim(end: number): void {
    this.#order.trim(end);
    this.#wedged?.resolve();
    this.#wedged = undefined;
  }

  /** The series ends for this receiver, when the messages of the groups so far were taken. */
  end(): void {
    this.#hasEnded = true;
    this.#tell();
  }

  /**
   * The items. Ends after `end`; the failure of a group does not end it, as the next group goes on. One consumer at a time.
   * @throws GroupError ERR_RDMC_ITERATOR_TAKEN
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<SeriesItem, void, void> {
    if (this.#isTaken) {
      throw new GroupError(
        'ERR_RDMC_ITERATOR_TAKEN',
        'This series is being iterated already; share its items',
      );
    }
    this.#isTaken = true;
    try {
      for (let run = await this.#nextRun(); run !== undefined; run = await this.#nextRun())
        yield* this.#deliver(run);
    } finally {
      this.#isTaken = false;
    }
  }

  /** Undefined: the series has ended. */
  async #nextRun(): Promise<Run | undefined> {
    while (this.#current === undefined && this.#runs.length === 0) {
      if (this.#hasEnded) return undefined;
      await this.#news.promise;
    }
    return this.#current ?? this.#runs.shift();
  }

  async *#deliver(run: Run): AsyncGenerator<SeriesItem, void, void> {
    // An iteration that was left is continued by the next one, in the same group.
    if (this.#current === undefined) {
      this.#current = run;
      const gap = this.#order.begin(run.group.first);
      if (gap !== undefined) yield { type: 'gap', ...gap };
    }
    let failure: unknown;
    try {
      for await (const message of run.group) {
        while (this.#wedged !== undefined) await this.#wedged.promise;
        const number = this.#order.take();
        if (number === undefined) message.release();
        else yield { type: 'message', number, message };
      }
    } catch (error) {
      failure = error;
    }
    this.#order.finish();
    this.#current = undefined;
    if (failure === undefined) run.done.resolve();
    else run.done.reject(failure);
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = new Deferred();
  }
}
