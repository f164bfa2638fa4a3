import { TailwindError } from '../errors.js';
import { AppendQueue } from './append-queue.js';
import type { LogEnvironment } from './log-environment.js';
import type { Segment } from './segment.js';
import type { SegmentTable } from './segment-table.js';
import type { Ticket } from './ticket.js';

/** What heads need of a cleaner. */
export interface HeadsCleaner {
  /** Segments that heads must leave free. */
  readonly reserve: number;
  /** A round waits for a head that names its survivors: that one may use the reserve. */
  readonly needsHead: boolean;
  /** Begins to clean when space is short. */
  look(): void;
  /** False: there is nothing to clean. Else the heads hear when there is room, or when there will be none. */
  makeRoom(): boolean;
  /** A head that is being opened names the survivors that are ready. */
  adopt(head: Segment): void;
  /** All heads before it are durably closed. */
  becameHead(head: Segment): void;
}

/**
 * The segment that appends go to, the one after it, which is opened ahead of need, and the appends that wait for it.
 * The order makes the log's end unambiguous for recovery: the next one is durably open before this one is closed, and is
 * written only when this one is durably closed.
 */
export class Heads {
  readonly queue = new AppendQueue();
  #head: Segment | undefined;
  #next: Segment | undefined;
  #preparing = false;
  /** Why there is no segment after the head yet. */
  #noNext: Error | undefined;
  /** Opened beyond what objects may use, so that a full log still takes tombstones. */
  #forRemovals: Segment | undefined;
  cleaner: HeadsCleaner | undefined;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly table: SegmentTable,
  ) {}

  get head(): Segment | undefined {
    return this.#head;
  }

  /** Opens the first segment. */
  async begin(): Promise<void> {
    const head = await this.#open();
    await head.becomeHead();
    this.#head = head;
    this.#prepare();
  }

  /**
   * Places an append, or lets it wait for the next segment.
   * @throws TailwindError ERR_RDMC_LOG_FULL, ERR_RDMC_LOG_BACKPRESSURE, ERR_RDMC_TOO_FEW_BACKUPS, VerbsError for want of
   *   memory; then it is nowhere
   */
  append(ticket: Ticket): void {
    if (this.queue.length === 0) {
      if (this.#place(ticket)) return;
      if (this.#rotate(ticket) && this.#place(ticket)) {
        this.advance();
        return;
      }
    }
    if (this.#noNext) throw this.#noNext;
    const { maxQueuedBytes } = this.environment.options;
    if (this.queue.heldBytes + ticket.heldBytes > maxQueuedBytes) throw this.#backpressure();
    if (this.queue.length === 0 && this.#isFull(ticket)) throw this.#full();
    this.queue.push(ticket);
    // Those before it wait for something that calls `advance` when it comes.
    if (this.queue.length === 1) this.advance();
  }

  /** Something changed: a segment is open, in files, or freed. Places what waits, or says that there will be no room. */
  advance(): void {
    if (this.environment.ended.aborted || !this.#head) return;
    for (let ticket = this.queue.peek(); ticket; ticket = this.queue.peek()) {
      if (this.#place(ticket) || (this.#rotate(ticket) && this.#place(ticket))) this.queue.shift();
      else if (this.#isFull(ticket)) this.queue.failAll(this.#full());
      else break;
    }
    this.#prepare();
    this.cleaner?.look();
  }

  /** Backups are too few for the next segment, or there is no memory for it; or there is again. */
  refuse(reason: Error | undefined): void {
    this.#noNext = reason;
  }

  #place(ticket: Ticket): boolean {
    if (this.#forRemovals && this.table.count <= this.#limit(false)) this.#forRemovals = undefined;
    if (this.#head === this.#forRemovals && !ticket.isRemoval) return false;
    return this.#head!.place(ticket);
  }

  /** Goes over to the next segment, if it is durably open. */
  #rotate({ isRemoval }: Ticket): boolean {
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

  /** Opens the segment after the head, ahead of need. */
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

  /** How many segments there may be when a head is opened. The cleaner has a reserve, and so have removals. */
  #limit(isRemoval: boolean): number {
    const { maxSegments } = this.environment.options;
    if (!this.cleaner || this.cleaner.needsHead) return maxSegments;
    return maxSegments - this.cleaner.reserve + (isRemoval ? 1 : 0);
  }

  /** No segment will come for it unless the application removes something. */
  #isFull(ticket: Ticket): boolean {
    if (this.#next && !(this.#next === this.#forRemovals && !ticket.isRemoval)) return false;
    if (this.#preparing || this.table.count < this.#limit(ticket.isRemoval)) return false;
    return !this.cleaner?.makeRoom();
  }

  #full(): TailwindError {
    const { logId, maxSegments } = this.environment.options;
    const why = this.cleaner
      ? 'and cleaning would not free one: remove something'
      : 'and it has no cleaner; the last is full';
    return new TailwindError(
      'ERR_RDMC_LOG_FULL',
      `Log ${logId} has as many segments as it may (${maxSegments}), ${why}`,
    );
  }

  #backpressure(): TailwindError {
    return new TailwindError(
      'ERR_RDMC_LOG_BACKPRESSURE',
      `Appends that hold ${this.queue.heldBytes} bytes wait for backups; await some before more`,
    );
  }
}
