import { CLEANER_SURVEY_INTERVAL_MS, SURVIVOR_OVERHEAD_BYTES } from '../constants.js';
import { type Kept, measure } from './cleaning-round.js';
import type { Heads, HeadsCleaner } from './heads.js';
import type { LogCleaner } from './log-cleaner.js';
import type { LogEnvironment } from './log-environment.js';
import type { Segment } from './segment.js';
import { chooseSegments } from './segment-choice.js';
import type { SegmentTable } from './segment-table.js';
import { settle } from './settle-round.js';
import { SurvivorWriter } from './survivor-writer.js';

/** Segments whose live entries are in survivors, durably. */
interface Round {
  readonly cleaned: readonly Segment[];
  readonly writer: SurvivorWriter;
  /** The head whose digest names the survivors and not the cleaned ones. */
  carrier: Segment | undefined;
}

/**
 * Keeps a log's space bounded: copies what is live of some closed segments into survivors and frees the segments.
 *
 * ```
 * measure ─▶ copy ─▶ survivors durably closed ─▶ index points there ─▶ the next head's digest names the survivors, not
 * the cleaned, durably ─▶ the head before it durably closed, and the survivors in files ─▶ cleaned segments freed, at the
 * backups and here
 * ```
 *
 * The files come into it because of what was promised: what was `flushed` must not lie in buffers only, again.
 *
 * A recovery finds the head before, with a digest that names the old segments, or the next one, with the survivors:
 * both are whole. (RAMCloud, Log-structured Memory, FAST 2014.)
 */
export class Cleaner implements HeadsCleaner {
  #isRunning = false;
  #rounds: Round[] = [];
  #surveyedAt = Number.NEGATIVE_INFINITY;
  /** What the candidates looked like when nothing could be won with them. */
  #fruitless: string | undefined;
  cleanedSegments = 0;
  movedBytes = 0;

  constructor(
    private readonly environment: LogEnvironment,
    private readonly table: SegmentTable,
    private readonly heads: Heads,
    private readonly application: LogCleaner,
  ) {}

  /** Segments that heads must leave free: survivors, one for removals, and two heads until a round has its effect. */
  get reserve(): number {
    return this.#survivors + 3;
  }

  /** A round waits for a head that names its survivors: that one may use the reserve. */
  get needsHead(): boolean {
    return this.#rounds.some(({ carrier }) => !carrier);
  }

  /** Begins to clean when space is short. */
  look(): void {
    if (this.#isRunning) return;
    const { maxSegments } = this.environment.options;
    const free = maxSegments - this.reserve - this.table.count;
    if (free <= Math.max(1, maxSegments >> 3) && this.#seesGain()) this.#start(false);
  }

  /** False: there is nothing to clean. Else the heads hear when there is room, or when there will be none. */
  makeRoom(): boolean {
    if (this.#isRunning || this.#rounds.length > 0) return true;
    const isSurveyDue = performance.now() - this.#surveyedAt > CLEANER_SURVEY_INTERVAL_MS;
    if (isSurveyDue || this.#seesGain()) {
      this.#start(true);
      return true;
    }
    // What is not in files yet cannot be cleaned, but soon.
    return [...this.table.all()].some((segment) => segment.isClosing && !segment.isFlushed);
  }

  /** A head is about to be opened: its digest is the first that names the survivors of what is done. */
  adopt(head: Segment): void {
    for (const round of this.#rounds.filter(({ carrier }) => !carrier)) {
      round.carrier = head;
      this.table.swap(round.cleaned, round.writer.survivors);
    }
  }

  /** All heads before it are durably closed: no recovery goes by an older digest. Once the survivors are in files, frees. */
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

  /** How many survivors one round may have. */
  get #survivors(): number {
    return Math.min(16, Math.max(2, this.environment.options.maxSegments >> 3));
  }

  async #free(segment: Segment): Promise<void> {
    this.cleanedSegments += 1;
    await this.table.free(segment).catch(() => {});
    this.heads.advance();
  }

  #start(wanted: boolean): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#clean(wanted)
      .catch((error: unknown) => this.environment.fail(error as Error))
      .finally(() => {
        this.#isRunning = false;
        this.heads.advance();
      });
  }

  async #clean(wanted: boolean): Promise<void> {
    const { ended } = this.environment;
    let kept = await this.#settle();
    if (kept.length === 0 && wanted) {
      // By what it was told there is nothing. The application need not have told everything.
      await this.#measure(this.#candidates());
      this.#surveyedAt = performance.now();
      kept = await this.#settle();
    }
    this.#fruitless = kept.length === 0 ? this.#signature() : undefined;
    if (kept.length === 0) return;
    const writer = new SurvivorWriter(this.table, this.application, ended);
    await writer.write(kept);
    await writer.announce();
    this.movedBytes += writer.movedBytes;
    this.#rounds.push({ cleaned: kept.map(({ segment }) => segment), writer, carrier: undefined });
    for (const { flushed } of writer.survivors) flushed.then(() => this.heads.advance()).catch(() => {});
  }

  #settle(): Promise<Kept[]> {
    return settle(this.#choose(), {
      measure: (segments, staying) => this.#measure(segments, staying),
      choose: (measured) => this.#choose(measured),
      survivorBytes: this.#survivorBytes,
      survivors: this.#room,
    });
  }

  /** @param staying some of the others: the newest object of a key that waits may be there */
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
    return this.application.followsPlacement ? run(new Set()) : this.heads.queue.withKeys(run);
  }

  #seesGain(): boolean {
    return this.#fruitless !== this.#signature() && this.#choose().length > 0;
  }

  /** Changes whenever a segment comes or goes, or something in one is said to be dead. */
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

  /** For how many survivors there is memory now. Two segments more must stay, for the heads until one names them. */
  get #room(): number {
    const { maxSegments } = this.environment.options;
    return Math.max(0, Math.min(this.#survivors, maxSegments - this.table.count - 2));
  }

  /** What a survivor has room for, about: less its header, its checksums and what is too small for the next entry. */
  get #survivorBytes(): number {
    const { segmentBytes } = this.environment.options;
    return segmentBytes - SURVIVOR_OVERHEAD_BYTES - (segmentBytes >> 6);
  }

  /** Named, in files, and not about to go. */
  #candidates(): Segment[] {
    const pending = new Set(this.#rounds.flatMap(({ cleaned }) => cleaned));
    return [...this.table.all()].filter(
      (segment) => segment.isFlushed && this.table.names(segment) && !pending.has(segment),
    );
  }
}
