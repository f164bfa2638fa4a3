import { EntryType } from '../format/layout.js';
import { inOrder, type Kept } from './cleaning-round.js';
import type { LogCleaner } from './log-cleaner.js';
import { Pace } from './pace.js';
import type { Segment } from './segment.js';
import type { SegmentTable } from './segment-table.js';

/** Objects of one segment that were copied to one survivor: pairs of the old and the new offset. */
interface Run {
  readonly from: Segment;
  readonly to: Segment;
  readonly offsets: number[];
}

/** Copies the kept entries of cleaned segments into survivors, and announces them to the application once durable. */
export class SurvivorWriter {
  readonly survivors: Segment[] = [];
  readonly #runs: Run[] = [];
  /** Objects that the application reported dead at their announcement. */
  #dead: Run[] = [];
  readonly #pace: Pace;
  movedBytes = 0;

  constructor(
    private readonly table: SegmentTable,
    private readonly cleaner: LogCleaner,
    ended: AbortSignal,
  ) {
    this.#pace = new Pace(ended);
  }

  /** Resolves when all survivors are durably closed. */
  async write(kept: readonly Kept[]): Promise<void> {
    for (const { segment, offsets } of inOrder(kept)) {
      for (const offset of offsets) {
        if (!this.#copy(segment, offset)) {
          await this.#open(segment.writtenAt);
          this.#copy(segment, offset);
        }
        if (!this.#pace.isDue) continue;
        this.survivors.at(-1)?.send();
        await this.#pace.yield();
      }
    }
    this.survivors.at(-1)?.close();
    await Promise.all(this.survivors.map(({ closed }) => closed));
  }

  /** Objects that died meanwhile are not announced now. Tombstones are internal to the log and never announced. */
  async announce(): Promise<void> {
    for (const { from, to, offsets } of this.#runs) {
      for (let at = 0; at < offsets.length; at += 2) {
        const [before, after] = [offsets[at]!, offsets[at + 1]!];
        if (!this.#announce(from, before, to, after)) {
          to.contents.dead(after);
          note(this.#dead, from, before, to, after);
        }
        if (this.#pace.isDue) await this.#pace.yield();
      }
    }
  }

  /**
   * To be called before the cleaned segments are freed. An object that was superseded by a waiting append is live
   * again if that append has failed.
   */
  async announceAgain(): Promise<void> {
    for (const { from, to, offsets } of this.#dead) {
      for (let at = 0; at < offsets.length; at += 2) {
        const [before, after] = [offsets[at]!, offsets[at + 1]!];
        if (this.#announce(from, before, to, after)) to.contents.alive(after);
        if (this.#pace.isDue) await this.#pace.yield();
      }
    }
    this.#dead = [];
  }

  /** False: the object is dead. */
  #announce(from: Segment, before: number, to: Segment, after: number): boolean {
    const old = { segmentId: from.id, offset: before };
    if (!this.cleaner.isLive(from.contents.at(before)!, old)) return false;
    this.cleaner.moved(to.contents.at(after)!, old, { segmentId: to.id, offset: after });
    return true;
  }

  /** False when the survivor is full. */
  #copy(from: Segment, before: number): boolean {
    const to = this.survivors.at(-1);
    const entry = from.contents.at(before)!;
    const after = to?.contents.placeCopy(entry);
    if (!to || after === undefined) return false;
    this.movedBytes += from.contents.lengthAt(before);
    if (entry.type === EntryType.OBJECT) note(this.#runs, from, before, to, after);
    return true;
  }

  async #open(writtenAt: number): Promise<void> {
    this.survivors.at(-1)?.close();
    const survivor = await this.table.make('survivor');
    survivor.writtenAt = writtenAt;
    await survivor.openSurvivor();
    this.survivors.push(survivor);
  }
}

function note(runs: Run[], from: Segment, before: number, to: Segment, after: number): void {
  let run = runs.at(-1);
  if (run?.from !== from || run.to !== to) {
    run = { from, to, offsets: [] };
    runs.push(run);
  }
  run.offsets.push(before, after);
}
