import { TailwindError } from '../errors.js';
import { AppendQueue } from './append-queue.js';
import type { LogEnvironment } from './log-environment.js';
import type { PendingAppend } from './pending-append.js';
import type { Segment } from './segment.js';
import type { SegmentTable } from './segment-table.js';

/** The part of a cleaner that LogHead uses. */
export interface HeadCleaner {
  /** Segments that heads must leave free. */
  readonly reserve: number;
  /** A round waits for a head that names its survivors: that head may use the reserve. */
  readonly needsHead: boolean;
  /** Starts to clean when space is short. */
  cleanIfShort(): void;
  /**
   * False: there is nothing to clean. Otherwise `advance` is called when there is room, or when there will be none.
   */
  makeRoom(): boolean;
  /** Called before a head is opened: the head names the survivors that are ready. */
  adopt(head: Segment): void;
  /** All heads before it are durably closed. */
  becameHead(head: Segment): void;
}

/**
 * The segment for appends (the head), the one after it, which is opened in advance, and the appends that wait for it.
 * The order makes the log's end unambiguous for recovery: the next segment is durably open before the head is closed,
 * and is written only when the head is durably closed.
 */
export class LogHead {
  readonly queue = new AppendQueue();
  #head: Segment | undefined;
  #next: Segment | undefined;
  #preparing = false;
  /** Reason why the segment after the head cannot be opened now. */
  #nextRefusal: Error | undefined;
  /** A segment beyond the limit for objects, so that a full log still takes tombstones. */
  #forRemovals: Segment | undefined;
  cleaner: HeadCleaner | undefined;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly table: SegmentTable,
  ) {}

  get segment(): Segment | undefined {
    return this.#head;
  }

  /** Whether the segments that heads may still become have no room for objects beyond those that wait. */
  get isShort(): boolean {
    const { maxSegments, segmentBytes } = this.environment.options;
    const isReady = this.#next !== undefined && this.#next !== this.#forRemovals;
    const left = maxSegments - (this.cleaner?.reserve ?? 0) - this.table.count + Number(isReady);
    return left <= Math.ceil(this.queue.heldBytes / segmentBytes);
  }

  /** Opens the first segment. */
  async begin(): Promise<void> {
    const head = await this.#open();
    await head.becomeHead();
    this.#head = head;
    this.#prepare();
  }

  /**
   * Places an append, or queues it for the next segment.
   * @throws TailwindError ERR_RDMC_LOG_FULL, ERR_RDMC_LOG_BACKPRESSURE, ERR_RDMC_TOO_FEW_BACKUPS; VerbsError if memory
   *   cannot be registered. The append is neither placed nor queued then.
   */
  append(append: PendingAppend): void {
    if (this.queue.length === 0) {
      if (this.#place(append)) return;
      if (this.#rotate(append) && this.#place(append)) {
        this.advance();
        return;
      }
    }
    if (this.#nextRefusal) throw this.#nextRefusal;
    const { maxQueuedBytes } = this.environment.options;
    if (this.queue.heldBytes + append.heldBytes > maxQueuedBytes) throw this.#backpressure();
    if (this.queue.length === 0 && this.#isFull(append)) throw this.#full();
    this.queue.push(append);
    // If others wait already, the event that they wait for calls `advance`.
    if (this.queue.length === 1) this.advance();
  }

  /**
   * Call when a segment was opened, written to files or freed. Places waiting appends, or fails them if the log is
   * full.
   */
  advance(): void {
    if (this.environment.ended.aborted || !this.#head) return;
    for (let append = this.queue.peek(); append; append = this.queue.peek()) {
      if (this.#place(append) || (this.#rotate(append) && this.#place(append))) this.queue.shift();
      else if (this.#isFull(append)) this.queue.failAll(this.#full());
      else break;
    }
    this.#prepare();
    this.cleaner?.cleanIfShort();
  }

  /**
   * Sets the reason why the next segment cannot be opened (too few backups, or no memory); undefined when it can be
   * again.
   */
  refuse(reason: Error | undefined): void {
    this.#nextRefusal = reason;
  }

  #place(append: PendingAppend): boolean {
    if (this.#forRemovals && this.table.count <= this.#limit(false)) this.#forRemovals = undefined;
    if (this.#head === this.#forRemovals && !append.isRemoval) return false;
    return this.#head!.place(append);
  }

  /** Makes the next segment the head, if it is durably open. */
  #rotate({ isRemoval }: PendingAppend): boolean {
    const [before, next] = [this.#head!, this.#next];
    if (!next || (next === this.#forRemovals && !isRemoval)) return false;
    this.#head = next;
    this.#next = undefined;
    before.close();
    before.closed
      .then(() => next.becomeHead())
      .then(() => this.cleaner?.becameHead(next))
      .catch((error: unknown) => this.environment.fail(error as Error));
    before.flushed.then(
      () => this.advance(),
      () => {},
    );
    return true;
  }

  /** Opens the segment after the head, in advance. */
  #prepare(): void {
    if (this.#preparing || this.#next || !this.#head) return;
    const isRemoval = this.queue.peek()?.isRemoval ?? false;
    if (this.table.count >= this.#limit(isRemoval)) return;
    const isSpare = this.table.count >= this.#limit(false);
    this.#preparing = true;
    this.#open().then(
      (segment) => {
        this.#preparing = false;
        this.#next = segment;
        if (isSpare) this.#forRemovals = segment;
        this.advance();
      },
      (error: unknown) => this.environment.fail(error as Error),
    );
  }

  async #open(): Promise<Segment> {
    const segment = await this.table.make('head');
    this.cleaner?.adopt(segment);
    await segment.openHead(this.table.digest());
    return segment;
  }

  /** Limit of segments for opening a head. There is a reserve for the cleaner, and one segment for removals. */
  #limit(isRemoval: boolean): number {
    const { maxSegments } = this.environment.options;
    if (!this.cleaner || this.cleaner.needsHead) return maxSegments;
    return maxSegments - this.cleaner.reserve + (isRemoval ? 1 : 0);
  }

  /** Whether no segment will become available for this append unless the application removes entries. */
  #isFull(append: PendingAppend): boolean {
    if (this.#next && !(this.#next === this.#forRemovals && !append.isRemoval)) return false;
    if (this.#preparing || this.table.count < this.#limit(append.isRemoval)) return false;
    return !this.cleaner?.makeRoom();
  }

  #full(): TailwindError {
    const { logId, maxSegments } = this.environment.options;
    const why = this.cleaner
      ? 'and cleaning would not free one: remove entries'
      : 'the last one is full, and the log does not have a cleaner';
    return new TailwindError(
      'ERR_RDMC_LOG_FULL',
      `Log ${logId} uses all of its ${maxSegments} segments (maxSegments), ${why}`,
    );
  }

  #backpressure(): TailwindError {
    return new TailwindError(
      'ERR_RDMC_LOG_BACKPRESSURE',
      `Appends of ${this.queue.heldBytes} bytes wait for backups; await some of them before you append more`,
    );
  }
}
