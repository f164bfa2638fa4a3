import { CLEANER_SURVEY_INTERVAL_MS, SURVIVOR_OVERHEAD_BYTES } from '../constants.js';
import { chooseRound } from './choose-round.js';
import { type Kept, measure } from './cleaning-round.js';
import type { LogCleaner } from './log-cleaner.js';
import type { LogEnvironment } from './log-environment.js';
import type { HeadCleaner, LogHead } from './log-head.js';
import type { Segment } from './segment.js';
import { chooseSegments } from './segment-choice.js';
import type { SegmentTable } from './segment-table.js';
import { SurvivorWriter } from './survivor-writer.js';

/** A round of cleaning whose live entries are in survivors, durably. */
interface Round {
  readonly cleaned: readonly Segment[];
  readonly writer: SurvivorWriter;
  /** The head whose digest names the survivors and not the cleaned segments. */
  carrier: Segment | undefined;
}

/**
 * Bounds a log's space: copies the live entries of some closed segments into survivors and frees the segments.
 *
 * ```
 * measure ─▶ copy ─▶ survivors durably closed ─▶ index points there ─▶ the next head's digest names the survivors, not
 * the cleaned, durably ─▶ the head before it durably closed, and the survivors in files ─▶ cleaned segments freed, at the
 * backups and here
 * ```
 *
 * Cleaned segments are freed only when the survivors are in files, because of `flushed`: entries that were in files
 * must not be in buffers only.
 *
 * A recovery finds either the head before, with a digest that names the old segments, or the next one, which names the
 * survivors: both logs are complete. (RAMCloud, Log-structured Memory, FAST 2014.)
 */
export class Cleaner implements HeadCleaner {
  #isRunning = false;
  #rounds: Round[] = [];
  #surveyedAt = Number.NEGATIVE_INFINITY;
  /** Signature of the candidates when cleaning them would not have freed a segment. */
  #signatureWithoutGain: string | undefined;
  cleanedSegments = 0;
  movedBytes = 0;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly table: SegmentTable,
    private readonly head: LogHead,
    private readonly application: LogCleaner,
  ) {}

  /** Segments that heads must leave free: survivors, one for removals, and two heads until a round takes effect. */
  get reserve(): number {
    return this.#survivors + 3;
  }

  /** A round waits for a head that names its survivors: that head may use the reserve. */
  get needsHead(): boolean {
    return this.#rounds.some(({ carrier }) => !carrier);
  }

  /** Starts to clean when space is short. */
  cleanIfShort(): void {
    if (this.#isRunning) return;
    const { maxSegments } = this.environment.options;
    const free = maxSegments - this.reserve - this.table.count;
    if (free <= Math.max(1, maxSegments >> 3) && this.#seesGain()) this.#start(false);
  }

  /**
   * False: there is nothing to clean. Otherwise `LogHead.advance` is called when there is room, or when there will be
   * none.
   */
  makeRoom(): boolean {
    if (this.#isRunning || this.#rounds.length > 0) return true;
    const isSurveyDue = performance.now() - this.#surveyedAt > CLEANER_SURVEY_INTERVAL_MS;
    if (isSurveyDue || this.#seesGain()) {
      this.#start(true);
      return true;
    }
    // Segments that are not in files yet cannot be cleaned now, but soon.
    return [...this.table.all()].some((segment) => segment.isClosing && !segment.isFlushed);
  }

  /** Called before a head is opened: its digest is the first that names the survivors of the completed rounds. */
  adopt(head: Segment): void {
    for (const round of this.#rounds.filter(({ carrier }) => !carrier)) {
      round.carrier = head;
      this.table.swap(round.cleaned, round.writer.survivors);
    }
  }

  /**
   * All heads before this one are durably closed, so no recovery uses an older digest. The cleaned segments are freed
   * once the survivors are in files.
   */
  becameHead(head: Segment): void {
    for (const round of this.#rounds) {
      if (round.carrier === head)
        this.#end(round).catch((error: unknown) => this.environment.fail(error as Error));
    }
  }

  async #end(round: Round): Promise<void> {
    const { survivors } = round.writer;
    await Promise.all(survivors.map(({ flushed }) => flushed));
    await round.writer.announceAgain();
    this.#rounds = this.#rounds.filter((other) => other !== round);
    for (const segment of round.cleaned) void this.#free(segment);
  }

  /** Limit of survivors in one round. */
  get #survivors(): number {
    return Math.min(16, Math.max(2, this.environment.options.maxSegments >> 3));
  }

  async #free(segment: Segment): Promise<void> {
    this.cleanedSegments += 1;
    await this.table.free(segment).catch(() => {});
    this.head.advance();
  }

  #start(wanted: boolean): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#clean(wanted)
      .catch((error: unknown) => this.environment.fail(error as Error))
      .finally(() => {
        this.#isRunning = false;
        this.head.advance();
      });
  }

  async #clean(wanted: boolean): Promise<void> {
    const { ended } = this.environment;
    let kept = await this.#chooseRound();
    if (kept.length === 0 && wanted) {
      // According to the reports nothing is dead. The application need not have reported everything.
      await this.#measure(this.#candidates());
      this.#surveyedAt = performance.now();
      kept = await this.#chooseRound();
    }
    this.#signatureWithoutGain = kept.length === 0 ? this.#signature() : undefined;
    if (kept.length === 0) return;
    const writer = new SurvivorWriter(this.table, this.application, ended);
    await writer.write(kept);
    await writer.announce();
    this.movedBytes += writer.movedBytes;
    this.#rounds.push({ cleaned: kept.map(({ segment }) => segment), writer, carrier: undefined });
    for (const { flushed } of writer.survivors) flushed.then(() => this.head.advance()).catch(() => {});
  }

  #chooseRound(): Promise<Kept[]> {
    return chooseRound(this.#choose(), {
      measure: (segments, staying) => this.#measure(segments, staying),
      choose: (measured) => this.#choose(measured),
      survivorBytes: this.#survivorBytes,
      survivors: this.#room,
    });
  }

  /** @param staying some of the others: the newest object of a waiting key may be there */
  #measure(segments: readonly Segment[], staying: readonly Segment[] = []): Promise<Kept[]> {
    const mine = new Set(segments);
    const others = new Map<bigint, Segment>();
    for (const segment of this.table.all()) {
      if (segment.certificate && !mine.has(segment) && this.table.keeps(segment))
        others.set(segment.id, segment);
    }
    const { ended } = this.environment;
    const run = (queued: ReadonlySet<string>) =>
      measure({ segments, others, staying }, queued, this.application, ended);
    return this.application.followsPlacement ? run(new Set()) : this.head.queue.withKeys(run);
  }

  #seesGain(): boolean {
    return this.#signatureWithoutGain !== this.#signature() && this.#choose().length > 0;
  }

  /** Changes whenever a segment comes or goes, or an entry of one is reported dead. */
  #signature(): string {
    const candidates = this.#candidates();
    const live = candidates.reduce((sum, { contents }) => sum + contents.liveBytes, 0);
    return `${candidates.length} ${live}`;
  }

  #choose(from: readonly Segment[] = this.#candidates()): Segment[] {
    const now = performance.now();
    const candidates = from.map((segment) => {
      return { segment, liveBytes: segment.contents.liveBytes, ageMs: now - segment.writtenAt };
    });
    return chooseSegments(candidates, this.#survivorBytes, this.#room).map(({ segment }) => segment);
  }

  /**
   * Number of survivors for which there is memory now. Two more segments are left for heads, until one names the
   * survivors.
   */
  get #room(): number {
    const { maxSegments } = this.environment.options;
    return Math.max(0, Math.min(this.#survivors, maxSegments - this.table.count - 2));
  }

  /**
   * Estimated capacity of a survivor: without its header, its checksums and the rest that is too small for the next
   * entry.
   */
  get #survivorBytes(): number {
    const { segmentBytes } = this.environment.options;
    return segmentBytes - SURVIVOR_OVERHEAD_BYTES - (segmentBytes >> 6);
  }

  /** Segments that a digest names, that are in files, and that are not about to be freed. */
  #candidates(): Segment[] {
    const pending = new Set(this.#rounds.flatMap(({ cleaned }) => cleaned));
    return [...this.table.all()].filter(
      (segment) => segment.isFlushed && this.table.names(segment) && !pending.has(segment),
    );
  }
}
