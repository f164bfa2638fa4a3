import { Deferred, Fifo } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import { EntryType, type SegmentIdentity } from '../format/layout.js';
import { encodeDigest, encodeSegmentHeader } from '../format/payloads.js';
import type { Certificate } from '../format/scan.js';
import type { SegmentWriter } from '../format/segment-writer.js';
import type { LocalMemory } from '../worker/channel.js';
import type { LogEnvironment } from './log-environment.js';
import type { PendingAppend } from './pending-append.js';
import { ReplicaSet } from './replica-set.js';
import type { ReplicatedSegment } from './replicated-segment.js';
import { SegmentContents } from './segment-contents.js';

interface Group {
  readonly sequence: number;
  readonly appends: readonly PendingAppend[];
}

export type SegmentRole = 'head' | 'survivor';

const NOTHING_POSTED: Certificate = { byteLength: 0, checksum: 0 };

/**
 * A segment at its primary: the entries in memory, the groups that are being replicated, and the order of opening and
 * closing.
 *
 * ```
 * open() ─▶ header and digest durable ─▶ writable once the predecessor is closed ─▶ close() ─▶ closed ─▶ flushed
 * ```
 */
export class Segment implements ReplicatedSegment {
  readonly replicas: ReplicaSet;
  readonly contents: SegmentContents;
  /** Time at which its data was written, in milliseconds of `performance.now`; the cleaner prefers old segments. */
  writtenAt = performance.now();
  readonly #writer: SegmentWriter;
  readonly #groups = new Fifo<Group>();
  readonly #closed = new Deferred<void>();
  readonly #flushed = new Deferred<void>();
  readonly #opened = new Deferred<void>();
  #appends: PendingAppend[] = [];
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
    /** A survivor holds entries that the cleaner moved. Only a head has a digest. */
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

  /** The certificate of a closed segment. */
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

  /** Opens the replicas of a survivor. No digest names it yet: recovery ignores it. */
  async openSurvivor(): Promise<void> {
    await this.#open(undefined);
    this.#writable = true;
  }

  /** The predecessor is closed: appends may go out. */
  async becomeHead(): Promise<void> {
    await this.replicas.becomeHead();
    this.#writable = true;
    this.#schedule();
  }

  /** Places an append's entries; they go out together. False when they do not fit. */
  place(append: PendingAppend): boolean {
    const offsets = this.#closing ? undefined : this.contents.place(append.content);
    if (!offsets) return false;
    append.placed({ segmentId: this.id, offsets }, this.flushed);
    this.#appends.push(append);
    this.#schedule();
    return true;
  }

  /** Sends everything that was copied into it so far. */
  send(): void {
    this.#schedule();
  }

  /** Stops taking appends, and closes the replicas once all placed appends are acknowledged. */
  close(): void {
    this.#closing = true;
    this.#schedule();
  }

  /** Whether it has stopped taking appends. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Whether all replicas are in files. */
  get isFlushed(): boolean {
    return this.#isFlushed;
  }

  /** Frees replicas and memory of a closed segment that no digest names any more. */
  async free(): Promise<void> {
    await this.replicas.free();
    await this.region.close();
  }

  /** Fails everything that is not acknowledged. */
  fail(error: Error): void {
    for (let group = this.#groups.shift(); group; group = this.#groups.shift()) {
      for (const append of group.appends) append.fail(error);
    }
    for (const append of this.#appends) append.fail(error);
    this.#appends = [];
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

  /** Appends of one turn of the event loop go out as one group. */
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
    this.#groups.push({ sequence: this.#sequence, appends: this.#appends });
    this.#appends = [];
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
      for (const append of next.appends) append.acknowledge();
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
