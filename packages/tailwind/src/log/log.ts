import { setImmediate as turn } from 'node:timers/promises';
import { ENTRIES_PER_SEGMENT, OPENING_OVERHEAD_BYTES } from '../constants.js';
import { invalidOption, TailwindError } from '../errors.js';
import { EntryType } from '../format/layout.js';
import { Fifo } from '../worker/fifo.js';
import { WorkerLink } from '../worker-link.js';
import { Connections } from './connections.js';
import type { GrantPurpose, LogEnvironment } from './log-environment.js';
import { type CheckedLogOptions, checkLogOptions, type LogOptions } from './log-options.js';
import { Segment } from './segment.js';
import { type Append, type LogEntry, Ticket } from './ticket.js';

/**
 * A log of this member, replicated to r backups: every append is one one-sided write to each (Tailwind, section 3.2),
 * pipelined, and what is appended while the window is full goes out as one group. Segments follow one another in an
 * order that makes the log's end unambiguous for recovery: the next one is durably open before this one is closed, and
 * is written only when this one is durably closed. Belongs to the application's thread.
 */
export class Log {
  readonly #environment: LogEnvironment;
  readonly #ended = new AbortController();
  readonly #segments = new Map<bigint, Segment>();
  readonly #queue = new Fifo<Ticket>();
  readonly #unsubscribe: (() => void)[];
  #queuedBytes = 0;
  #head: Segment | undefined;
  #next: Segment | undefined;
  #preparing = false;
  #lastSegmentId = 0n;
  /** Why nothing can be acknowledged now. */
  #refusal: Error | undefined;
  /** Why there is no segment after the head yet. */
  #noNext: Error | undefined;

  private constructor(private readonly options: CheckedLogOptions) {
    const { mesh, plane } = options;
    const link = WorkerLink.of(plane);
    this.#environment = {
      options,
      link,
      connections: new Connections({ ...options, link }, options.backups, options.random),
      ended: this.#ended.signal,
      fail: (error) => this.#fail(error),
      refuse: (purpose, reason) => this.#refuse(purpose, reason),
    };
    this.#unsubscribe = [
      mesh.onFailure(({ member }) => this.#memberLost(member)),
      mesh.onLeave((member) => this.#memberLost(member)),
      plane.onDeath((error) => this.#fail(error)),
    ];
  }

  /**
   * Opens the log's first segment.
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_TOO_FEW_BACKUPS,
   *   ERR_RDMC_LOG_FENCED
   */
  static async create(options: LogOptions): Promise<Log> {
    const checked = checkLogOptions(options);
    if (checked.backups.length < checked.replicas) {
      throw new TailwindError(
        'ERR_RDMC_TOO_FEW_BACKUPS',
        `${checked.replicas} replicas need as many other members; there are ${checked.backups.length}`,
      );
    }
    const log = new Log(checked);
    try {
      log.#head = await log.#openSegment();
      await log.#head.becomeHead();
      // Where the device promises no order, the CRC in every header still tells torn writes.
      const { writeOrderUnitBytes } = checked.plane.device.attributes;
      const { mode, replicas } = checked;
      checked.logger?.info?.({ log: String(log.id), mode, replicas, writeOrderUnitBytes }, 'log created');
      log.#prepare();
      return log;
    } catch (error) {
      const reason: unknown = log.#ended.signal.reason;
      await log.close();
      throw reason ?? error;
    }
  }

  get id(): bigint {
    return this.options.logId;
  }

  /** Segments in memory, in order. */
  get segmentIds(): bigint[] {
    return [...this.#segments.keys()];
  }

  /** The largest sum of an append's payloads, each entry counted with 12 bytes more. */
  get maxAppendBytes(): number {
    return Math.floor((this.options.segmentBytes - OPENING_OVERHEAD_BYTES) / ENTRIES_PER_SEGMENT);
  }

  /** Aborted when the log has ended, with the reason: closed, or fenced. What it served must not be served any more. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Which backups have the newest segment, for observers. */
  get backups(): number[] {
    return this.#head?.replicas.members ?? [];
  }

  /**
   * Appends entries as one: after a failure all of them are there, or none. Their parts must not change before the
   * append is acknowledged. Appends are acknowledged in the order of the calls.
   * @throws TailwindError ERR_RDMC_LOG_CLOSED, ERR_RDMC_LOG_FENCED, ERR_RDMC_ENTRY_TOO_LARGE, ERR_RDMC_LOG_FULL,
   *   ERR_RDMC_TOO_FEW_BACKUPS, ERR_RDMC_LOG_BACKPRESSURE; then nothing was appended
   */
  append(...entries: readonly LogEntry[]): Append {
    this.#ended.signal.throwIfAborted();
    const ticket = new Ticket(entries);
    this.#check(ticket);
    if (this.#queue.length > 0 || !this.#head!.place(ticket)) this.#wait(ticket);
    return ticket;
  }

  /**
   * Ends the log at this member. What is not acknowledged rejects with ERR_RDMC_LOG_CLOSED; replicas stay where they
   * are. Await appends first.
   */
  async close(): Promise<void> {
    this.#fail(new TailwindError('ERR_RDMC_LOG_CLOSED', `Log ${this.id} is closed`));
    await this.#environment.connections.close();
    // What still holds a region ends in this turn: its queue pairs are gone.
    await turn();
    await Promise.all([...this.#segments.values()].map(({ region }) => region.close()));
    this.#segments.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The bytes of a segment in memory: a view, not a copy. */
  segmentBytes(segmentId: bigint): Uint8Array | undefined {
    return this.#segments.get(segmentId)?.region.view();
  }

  #check({ entries, payloadBytes }: Ticket): void {
    const isEntry = ({ type }: LogEntry): boolean =>
      type === EntryType.OBJECT || type === EntryType.TOMBSTONE;
    if (entries.length === 0 || !entries.every(isEntry)) {
      throw invalidOption('append: needs at least one entry, and only objects and tombstones');
    }
    const bytes = payloadBytes + 12 * entries.length;
    if (bytes > this.maxAppendBytes) {
      throw new TailwindError(
        'ERR_RDMC_ENTRY_TOO_LARGE',
        `An append of ${bytes} bytes is over the limit of ${this.maxAppendBytes} (a quarter of a segment)`,
      );
    }
    if (this.#refusal) throw this.#refusal;
  }

  #wait(ticket: Ticket): void {
    this.#checkRoom(ticket);
    this.#queue.push(ticket);
    this.#queuedBytes += ticket.payloadBytes;
    this.#placeQueued();
  }

  #checkRoom({ payloadBytes }: Ticket): void {
    const { maxSegments, maxQueuedBytes } = this.options;
    if (this.#noNext) throw this.#noNext;
    if (!this.#next && this.#segments.size >= maxSegments && !this.#preparing) {
      throw new TailwindError(
        'ERR_RDMC_LOG_FULL',
        `Log ${this.id} has ${maxSegments} segments, as many as it may, and the last is full`,
      );
    }
    if (this.#queuedBytes + payloadBytes > maxQueuedBytes) {
      throw new TailwindError(
        'ERR_RDMC_LOG_BACKPRESSURE',
        `${this.#queuedBytes} bytes of appends wait for backups; await some before more`,
      );
    }
  }

  #placeQueued(): void {
    for (let ticket = this.#queue.peek(); ticket; ticket = this.#queue.peek()) {
      if (!this.#head!.place(ticket) && !(this.#rotate() && this.#head!.place(ticket))) return;
      this.#queue.shift();
      this.#queuedBytes -= ticket.payloadBytes;
    }
  }

  /** Goes over to the next segment, if it is durably open. */
  #rotate(): boolean {
    const next = this.#next;
    if (!next) {
      this.#prepare();
      return false;
    }
    const before = this.#head!;
    this.#head = next;
    this.#next = undefined;
    before.close();
    before.closed.then(
      () => next.becomeHead(),
      () => {},
    );
    this.#prepare();
    return true;
  }

  /** Opens the segment after the head, ahead of need. */
  #prepare(): void {
    if (this.#preparing || this.#next || this.#segments.size >= this.options.maxSegments) return;
    this.#preparing = true;
    this.#openSegment().then(
      (segment) => {
        this.#preparing = false;
        this.#next = segment;
        this.#placeQueued();
      },
      (error: unknown) => this.#fail(error as Error),
    );
  }

  async #openSegment(): Promise<Segment> {
    const { plane, logId, incarnation, segmentBytes } = this.options;
    const region = await plane.protectionDomain.allocate(segmentBytes);
    region.view().fill(0);
    if (this.#ended.signal.aborted) {
      await region.close();
      throw this.#ended.signal.reason;
    }
    this.#lastSegmentId += 1n;
    const identity = { logId, segmentId: this.#lastSegmentId, incarnation };
    const segment = new Segment(this.#environment, identity, region);
    this.#segments.set(identity.segmentId, segment);
    await segment.open([...this.#segments.keys()]);
    return segment;
  }

  /** Before the first segment is open nobody waits for better times. */
  #refuse(purpose: GrantPurpose, reason: Error | undefined): void {
    if (purpose === 'replace') this.#refusal = reason;
    if (purpose === 'open') this.#noNext = reason;
    if (reason && !this.#head) this.#fail(reason);
  }

  #memberLost(member: number): void {
    for (const { replicas, certificate } of this.#segments.values()) {
      replicas.memberLost(member, certificate);
    }
  }

  #fail(error: Error): void {
    if (this.#ended.signal.aborted) return;
    this.options.logger?.warn?.({ log: String(this.id), reason: error.message }, 'the log has ended');
    this.#ended.abort(error);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const segment of this.#segments.values()) segment.fail(error);
    for (let ticket = this.#queue.shift(); ticket; ticket = this.#queue.shift()) ticket.fail(error);
  }
}
