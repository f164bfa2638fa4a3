import { Deferred, Fifo } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { EntryType, type SegmentIdentity } from '../format/layout.js';
import { encodeDigest, encodeSegmentHeader } from '../format/payloads.js';
import type { Certificate } from '../format/scan.js';
import type { SegmentWriter } from '../format/segment-writer.js';
import type { LocalMemory } from '../worker/channel.js';
import type { LogEnvironment } from './log-environment.js';
import { ReplicaSet } from './replica-set.js';
import type { ReplicatedSegment } from './replicated-segment.js';
import { SegmentContents } from './segment-contents.js';
import type { Ticket } from './ticket.js';

interface Group {
  readonly sequence: number;
  readonly tickets: readonly Ticket[];
}

export type SegmentRole = 'head' | 'survivor';

const NOTHING_POSTED: Certificate = { byteLength: 0, checksum: 0 };

/**
 * A segment at its primary: the entries in memory, the groups on their way to the backups, and the order of opening
 * and closing.
 *
 * ```
 * open() ─▶ header and digest durable ─▶ writable once the predecessor is closed ─▶ close() ─▶ closed ─▶ flushed
 * ```
 */
export class Segment implements ReplicatedSegment {
  readonly replicas: ReplicaSet;
  readonly contents: SegmentContents;
  /** When its data was written, in milliseconds on the clock of `performance.now`; the cleaner prefers old ones. */
  writtenAt = performance.now();
  readonly #writer: SegmentWriter;
  readonly #groups = new Fifo<Group>();
  readonly #closed = new Deferred<void>();
  readonly #flushed = new Deferred<void>();
  readonly #opened = new Deferred<void>();
  #tickets: Ticket[] = [];
  #sequence = 0;
  #inFlight = 0;
  #posted = NOTHING_POSTED;
  #writable = false;
  #scheduled = false;
  #closing = false;
  #isClosed = false;
  #isFlushed = false;

  constructor(
    private readonly environment: LogEnvironment,
    readonly identity: SegmentIdentity,
    readonly region: MemoryRegion,
    /** A survivor holds what the cleaner moved; only a head has a digest. */
    readonly role: SegmentRole,
  ) {
    this.contents = new SegmentContents(region.view(), identity);
    this.#writer = this.contents.writer;
    this.replicas = new ReplicaSet(environment, this, (sequence) => this.#acknowledged(sequence));
  }

  get id(): bigint {
    return this.identity.segmentId;
  }

  get memory(): LocalMemory {
    return { address: this.region.address, lkey: this.region.lkey };
  }

  get posted(): Certificate {
    return this.#posted;
  }

  /** Once closed: what it was closed with. */
  get certificate(): Certificate | undefined {
    return this.#isClosed ? this.#posted : undefined;
  }

  /** Resolves when all replicas are closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Resolves when all replicas are in files. */
  get flushed(): Promise<void> {
    return this.#flushed.promise;
  }

  /** Opens the replicas and makes header and digest durable there. */
  async openHead(digest: readonly bigint[]): Promise<void> {
    await this.#open(digest);
  }

  /** Opens the replicas of a survivor. Nothing names it yet: recovery does not see it. */
  async openSurvivor(): Promise<void> {
    await this.#open(undefined);
    this.#writable = true;
  }

  /** The predecessor is closed: soon appends go out. */
  async becomeHead(): Promise<void> {
    await this.replicas.becomeHead();
    this.#writable = true;
    this.#schedule();
  }

  /** Writes an append's entries; false when they do not fit any more. They go out together. */
  place(ticket: Ticket): boolean {
    const offsets = this.#closing ? undefined : this.contents.place(ticket.entries, ticket.payloadBytes);
    if (!offsets) return false;
    ticket.placed({ segmentId: this.id, offsets }, this.flushed);
    this.#tickets.push(ticket);
    this.#schedule();
    return true;
  }

  /** Sends what was copied into it so far. */
  send(): void {
    this.#schedule();
  }

  /** Takes no more appends, and closes the replicas once what was placed is acknowledged. */
  close(): void {
    this.#closing = true;
    this.#schedule();
  }

  /** Whether it takes no more appends. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Whether all replicas are in files. */
  get isFlushed(): boolean {
    return this.#isFlushed;
  }

  /** Nothing names it any more: its replicas and its memory go. Only of a segment that is closed. */
  async free(): Promise<void> {
    await this.replicas.free();
    await this.region.close();
  }

  /** Everything that is not acknowledged fails. */
  fail(error: Error): void {
    for (let group = this.#groups.shift(); group; group = this.#groups.shift()) {
      for (const ticket of group.tickets) ticket.fail(error);
    }
    for (const ticket of this.#tickets) ticket.fail(error);
    this.#tickets = [];
    for (const deferred of [this.#opened, this.#closed, this.#flushed]) deferred.reject(error);
  }

  async #open(digest: readonly bigint[] | undefined): Promise<void> {
    const { segmentBytes } = this.environment.options;
    await this.replicas.open();
    this.#writer.append(EntryType.SEGMENT_HEADER, encodeSegmentHeader({ ...this.identity, segmentBytes }));
    if (digest) this.#writer.append(EntryType.LOG_DIGEST, encodeDigest(digest));
    this.#post();
    await this.#opened.promise;
  }

  /** What is appended in one turn of the event loop goes out as one group. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#advance();
    });
  }

  #advance(): void {
    const { ended, options } = this.environment;
    if (ended.aborted || !this.#writable) return;
    if (this.#writer.hasUnsealed && this.#inFlight < options.window) this.#post();
    const isIdle = this.#inFlight === 0 && !this.#writer.hasUnsealed;
    if (this.#closing && isIdle && !this.#isClosed) {
      this.#isClosed = true;
      this.#close(this.#posted).catch((error: unknown) => this.environment.fail(error as Error));
    }
  }

  #post(): void {
    const { offset, byteLength } = this.#writer.seal()!;
    this.#sequence += 1;
    this.#inFlight += 1;
    this.#groups.push({ sequence: this.#sequence, tickets: this.#tickets });
    this.#tickets = [];
    this.#posted = { byteLength: offset + byteLength, checksum: this.#writer.checksum };
    try {
      this.environment.link.append(this.replicas.channel, this.#sequence, offset, byteLength);
    } catch (error) {
      // The data plane was closed or died.
      this.environment.fail(error as Error);
    }
  }

  #acknowledged(sequence: number): void {
    this.#opened.resolve();
    for (let next = this.#groups.peek(); next && next.sequence <= sequence; next = this.#groups.peek()) {
      this.#groups.shift();
      this.#inFlight -= 1;
      for (const ticket of next.tickets) ticket.acknowledge();
    }
    this.#advance();
  }

  async #close(certificate: Certificate): Promise<void> {
    await this.replicas.close(certificate);
    this.#closed.resolve();
    await this.replicas.flushed(certificate);
    this.#isFlushed = true;
    this.#flushed.resolve();
  }
}
