import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Lifetime, type Subscription, Tracer } from '@rdmc/common';
import { ENTRIES_PER_SEGMENT, OPENING_OVERHEAD_BYTES } from '../constants.js';
import { codeOf, invalidOption, TailwindError } from '../errors.js';
import type { SegmentEntry } from '../format/scan.js';
import type { Closable, NodeParts } from '../node-parts.js';
import { askAbandon, askClaim } from '../rpc/backup-client.js';
import { WorkerLink } from '../worker-link.js';
import { type AppendContent, EntryList, EntryRun, type LogEntry } from './append-content.js';
import { Cleaner } from './cleaner.js';
import { Connections } from './connections.js';
import type { EntryLocation } from './entry-location.js';
import type { LogEnvironment, Need } from './log-environment.js';
import { LogHead } from './log-head.js';
import { type CheckedLogOptions, checkLogOptions, type LogOptions } from './log-options.js';
import type { LogStats } from './log-stats.js';
import { type Append, PendingAppend } from './pending-append.js';
import { ReturnedBackups } from './returned-backups.js';
import { SegmentTable } from './segment-table.js';
import { StaleReplicas } from './stale-replicas.js';

const appendTrace = new Tracer<{ readonly logId: bigint; readonly byteLength: number }>(
  '@rdmc/tailwind:append',
);
const FATAL_CLAIMS = ['ERR_RDMC_LOG_EXISTS', 'ERR_RDMC_LOG_FENCED'];

/**
 * A log of this member, replicated to r backups: every append is one one-sided write to each (Tailwind, section 3.2).
 * Writes are pipelined; appends that arrive while the window is full go out as one group. Belongs to the application's
 * thread.
 */
export class Log {
  readonly #environment: LogEnvironment;
  readonly #lifetime = new Lifetime();
  readonly #segments: SegmentTable;
  readonly #head: LogHead;
  readonly #cleaner: Cleaner | undefined;
  readonly #subscriptions: Subscription[];
  #appendedBytes = 0;
  /** Reasons why nothing can be acknowledged now: too few backups, or a silent coordinator. */
  readonly #refusals = new Map<Need, Error>();

  private constructor(
    private readonly options: CheckedLogOptions,
    session: string,
    link: WorkerLink,
    private readonly open: Set<Closable>,
  ) {
    const { mesh, cleaner } = options;
    // Every wait listens to this signal: there may be as many listeners as segments and backups.
    setMaxListeners(0, this.#lifetime.signal);
    this.#environment = {
      options,
      link,
      connections: new Connections(
        { ...options, link, session, isBegun: () => this.#head.segment !== undefined },
        options.backups,
        options.random,
      ),
      staleReplicas: new StaleReplicas(options, this.#lifetime.signal),
      ended: this.#lifetime.signal,
      fail: (error) => this.#fail(error),
      refuse: (need, reason) => this.#refuse(need, reason),
    };
    this.#segments = new SegmentTable(this.#environment);
    this.#head = new LogHead(this.#environment, this.#segments);
    this.#cleaner = cleaner && new Cleaner(this.#environment, this.#segments, this.#head, cleaner);
    this.#head.cleaner = this.#cleaner;
    const returned = new ReturnedBackups(this.#environment, this.#segments, session);
    this.#subscriptions = [
      mesh.onMember((event) => returned.follow(event)),
      mesh.onFailure(({ member }) => this.#memberLost(member)),
      mesh.onLeave((member) => this.#memberLost(member)),
      link.onEnd((error) => this.#fail(error)),
    ];
    open.add(this);
  }

  /** @internal `Logs.create`, which says what it throws. */
  static async create(parts: NodeParts, options: LogOptions): Promise<Log> {
    const checked = checkLogOptions(parts, options);
    const { length } = checked.backups();
    if (length < checked.replicas) {
      throw new TailwindError(
        'ERR_RDMC_TOO_FEW_BACKUPS',
        `${checked.replicas} replicas need ${checked.replicas} other members with backups; there are ${length}: start more, or ask for ` +
          'fewer replicas',
      );
    }
    const session = randomBytes(16).toString('hex');
    try {
      await claim(checked, session);
      return await Log.#begin(parts, checked, session);
    } catch (error) {
      await abandon(checked, session);
      throw error;
    }
  }

  static async #begin(parts: NodeParts, checked: CheckedLogOptions, session: string): Promise<Log> {
    const { plane, open } = parts;
    const link = checked.thread === 'application' ? await WorkerLink.inline(plane) : parts.link;
    const log = new Log(checked, session, link, open);
    try {
      await log.#head.begin();
      // On a device without a write order, the CRC in every header still detects torn writes.
      const { writeOrderUnitBytes } = plane.device.attributes;
      const { mode, replicas } = checked;
      checked.logger?.info?.({ log: String(log.id), mode, replicas, writeOrderUnitBytes }, 'log created');
      return log;
    } catch (error) {
      const reason: unknown = log.#lifetime.signal.reason;
      await log.close();
      throw reason ?? error;
    }
  }

  /** The id of the log: `logId` of its options. */
  get id(): bigint {
    return this.options.logId;
  }

  /** Segments in memory, in order. */
  get segmentIds(): bigint[] {
    return [...this.#segments.all()].map(({ id }) => id);
  }

  /** Limit of the sum of an append's payloads, where each entry counts 12 bytes more. */
  get maxAppendBytes(): number {
    return Math.floor((this.options.segmentBytes - OPENING_OVERHEAD_BYTES) / ENTRIES_PER_SEGMENT);
  }

  /**
   * Whether no segment is left for objects behind those that the log has: an append with an object may have to wait for the
   * cleaner, or be refused (ERR_RDMC_LOG_FULL). Appends of tombstones have a segment more, so a full log still takes them: keep them
   * apart from objects now.
   */
  get isShort(): boolean {
    return this.#head.isShort;
  }

  /** Aborted with the reason when the log ends: closed, or fenced. Its data must not be served any more then. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when the log is closed here, and no device uses any of its memory any more. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  /** Backups of the newest segment, for observers. */
  get backups(): number[] {
    return this.#head.segment?.replicas.members ?? [];
  }

  /**
   * Appends entries as one: after a failure either all of them are there, or none. Their parts must not change before
   * the append is acknowledged. Appends are acknowledged in the order of the calls.
   * @throws TailwindError ERR_RDMC_LOG_CLOSED, ERR_RDMC_LOG_FENCED, ERR_RDMC_ENTRY_TOO_LARGE, ERR_RDMC_LOG_FULL,
   *   ERR_RDMC_TOO_FEW_BACKUPS, ERR_RDMC_COORDINATOR_SILENT, ERR_RDMC_LOG_BACKPRESSURE; then nothing was appended
   */
  append(...entries: readonly LogEntry[]): Append {
    return this.#append(new EntryList(entries));
  }

  /**
   * The same for entries as a segment has them: headers and payloads, one behind the other. Each piece has whole entries. They are
   * copied without an object for each of them, and get new checksums; so payloads that were changed in place count as they are.
   * The pieces must not change before the append is acknowledged.
   * @throws as `append`; TailwindError ERR_RDMC_INVALID_OPTION for bytes that are not entries
   */
  appendRun(pieces: readonly Uint8Array[]): Append {
    return this.#append(new EntryRun(pieces));
  }

  /**
   * The object or tombstone at a location that this log returned. It is a view of the segment's memory, not a copy:
   * use it in this turn of the event loop, or copy it. Undefined when the segment has been freed; before that, `moved`
   * was called for every live object in it.
   */
  entry({ segmentId, offset }: EntryLocation): SegmentEntry | undefined {
    return this.#segments.get(segmentId)?.contents.at(offset);
  }

  /**
   * Reports that an entry is superseded: once for each, and for objects. The reports direct the cleaner to segments
   * with dead entries. A wrong report costs time, not data: the cleaner asks before it drops anything.
   */
  dead({ segmentId, offset }: EntryLocation): void {
    this.#segments.get(segmentId)?.contents.dead(offset);
  }

  /** The space in use and the work of the cleaner, at this moment. */
  stats(): LogStats {
    const all = [...this.#segments.all()];
    return {
      segments: all.length,
      bytes: all.length * this.options.segmentBytes,
      limitBytes: this.options.maxSegments * this.options.segmentBytes,
      liveBytes: all.reduce((sum, { contents }) => sum + contents.liveBytes, 0),
      appendedBytes: this.#appendedBytes,
      cleanedSegments: this.#cleaner?.cleanedSegments ?? 0,
      movedBytes: this.#cleaner?.movedBytes ?? 0,
    };
  }

  /**
   * Replaces the replicas that a backup has by others, and has it free them: the backup is to go. It must not be among `backups` any
   * more; where it is again meanwhile, the rest stays there. Segments come one after the other, and appends go on meanwhile. Resolves
   * when the others have everything, or the rest stays.
   */
  async retire(member: number): Promise<void> {
    const isBackup = (): boolean => this.options.backups().includes(member);
    // Segments may have been closed during the first round, or have been opened at its beginning.
    for (let round = 0; round < 2; round += 1) {
      for (const segment of [...this.#segments.all()]) {
        if (isBackup()) return;
        await segment.replicas.retire(member, segment.certificate);
      }
    }
    // What is left would be a replica of a segment that is only being opened.
    if (!isBackup()) this.#memberLost(member);
  }

  /**
   * Ends the log at this member. Appends that are not acknowledged reject with ERR_RDMC_LOG_CLOSED; the replicas stay
   * at the backups. Await appends first.
   */
  async close(): Promise<void> {
    this.open.delete(this);
    this.#fail(new TailwindError('ERR_RDMC_LOG_CLOSED', `Log ${this.id} is closed`));
    await this.#environment.connections.close();
    // Operations that still hold a region end in this turn: their queue pairs are closed.
    await turn();
    await this.#segments.close();
    if (this.options.thread === 'application') await this.#environment.link.close();
    this.#lifetime.free();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The bytes of a segment in memory: a view, not a copy. */
  segmentBytes(segmentId: bigint): Uint8Array | undefined {
    return this.#segments.get(segmentId)?.region.view();
  }

  #append(content: AppendContent): Append {
    this.#lifetime.signal.throwIfAborted();
    const append = new PendingAppend(content);
    this.#check(append);
    this.#head.append(append);
    this.#appendedBytes += append.entryBytes;
    if (appendTrace.isWatched) this.#trace(append);
    return append;
  }

  #trace(append: PendingAppend): void {
    const describe = () => ({ logId: this.id, byteLength: append.entryBytes });
    // The caller has the promise; this one is only for the trace.
    appendTrace.promise(describe, () => append.acknowledged).catch(() => {});
  }

  #check({ content, entryBytes: bytes }: PendingAppend): void {
    if (!content.isValid) {
      throw invalidOption('append: needs at least one entry, and only objects and tombstones');
    }
    if (bytes > this.maxAppendBytes) {
      throw new TailwindError(
        'ERR_RDMC_ENTRY_TOO_LARGE',
        `An append of ${bytes} bytes is over the limit of ${this.maxAppendBytes} (a quarter of a segment)`,
      );
    }
    for (const reason of this.#refusals.values()) throw reason;
  }

  /** Before the first segment is open, such a reason ends the log: `create` rejects instead of waiting. */
  #refuse(need: Need, reason: Error | undefined): void {
    if (need === 'open') this.#head.refuse(reason);
    else if (!reason) this.#refusals.delete(need);
    else if (need === 'replace' || need === 'raise') this.#refusals.set(need, reason);
    if (reason && !this.#head.segment) this.#fail(reason);
  }

  #memberLost(member: number): void {
    this.#environment.connections.lost(member);
    for (const { replicas, certificate } of this.#segments.all()) {
      replicas.memberLost(member, certificate);
    }
  }

  #fail(error: Error): void {
    if (this.#lifetime.signal.aborted) return;
    this.options.logger?.warn?.({ log: String(this.id), reason: error.message }, 'log ended');
    this.#lifetime.end(error);
    for (const each of this.#subscriptions) each.close();
    for (const segment of this.#segments.all()) segment.fail(error);
    this.#head.queue.failAll(error);
  }
}

/** Backups that are not connected, or slow, receive the claim when they are first used. */
async function claim({ mesh, backups, logId }: CheckedLogOptions, session: string): Promise<void> {
  const here = backups().filter((id) => mesh.peers.get(id)?.state === 'connected');
  const answers = await Promise.allSettled(here.map((id) => askClaim(mesh, id, logId, session)));
  for (const answer of answers) {
    if (answer.status === 'rejected' && FATAL_CLAIMS.includes(codeOf(answer.reason) ?? ''))
      throw answer.reason;
  }
}

/** A backup that does not receive it keeps its replicas until its coordinator reports the log as recovered. */
async function abandon({ mesh, backups, logId }: CheckedLogOptions, session: string): Promise<void> {
  const here = backups().filter((id) => mesh.peers.get(id)?.state === 'connected');
  await Promise.allSettled(here.map((id) => askAbandon(mesh, id, logId, session)));
}
