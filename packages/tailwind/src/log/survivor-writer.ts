import { EntryType } from '../format/layout.js';
import { inOrder, type Kept } from './cleaning-round.js';
import type { LogCleaner } from './log-cleaner.js';
import { Pace } from './pace.js';
import type { Segment } from './segment.js';
import type { SegmentTable } from './segment-table.js';

/** Objects of one segment that were copied to one survivor: offsets there and here, in pairs. */
interface Run {
  readonly from: Segment;
  readonly to: Segment;
  readonly offsets: number[];
}

/** Copies what is kept of cleaned segments into survivors, and tells the application where it is once it is durable. */
export class SurvivorWriter {
  readonly survivors: Segment[] = [];
  readonly #runs: Run[] = [];
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

  /** What died meanwhile is not announced. Tombstones are the log's own affair. */
  async announce(): Promise<void> {
    for (const { from, to, offsets } of this.#runs) {
      for (let at = 0; at < offsets.length; at += 2) {
        this.#announce(from, offsets[at]!, to, offsets[at + 1]!);
        if (this.#pace.isDue) await this.#pace.yield();
      }
    }
  }

  #announce(from: Segment, before: number, to: Segment, after: number): void {
    const old = { segmentId: from.id, offset: before };
    if (!this.cleaner.isLive(from.contents.at(before)!, old)) to.contents.dead(after);
    else this.cleaner.moved(to.contents.at(after)!, old, { segmentId: to.id, offset: after });
  }

  /** False when there is no room. */
  #copy(from: Segment, before: number): boolean {
    const to = this.survivors.at(-1);
    const entry = from.contents.at(before)!;
    const after = to?.contents.placeCopy(entry);
    if (!to || after === undefined) return false;
    this.movedBytes += from.contents.lengthAt(before);
    if (entry.type === EntryType.OBJECT) this.#note(from, before, to, after);
    return true;
  }

  #note(from: Segment, before: number, to: Segment, after: number): void {
    let run = this.#runs.at(-1);
    if (run?.from !== from || run.to !== to) {
      run = { from, to, offsets: [] };
      this.#runs.push(run);
    }
    run.offsets.push(before, after);
  }

  async #open(writtenAt: number): Promise<void> {
    this.survivors.at(-1)?.close();
    const survivor = await this.table.make('survivor');
    survivor.writtenAt = writtenAt;
    await survivor.openSurvivor();
    this.survivors.push(survivor);
  }
}
