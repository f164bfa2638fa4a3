import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { RowAddress, TableSetup } from '../records.js';
import { ranksBelow, without } from './ranks.js';
import { readState, writeState } from './row-codec.js';
import { covers, openRow, type Row, sameCounts } from './survivor-rules.js';
import { type RowLayout, rowLayout } from './table-layout.js';

/** A member wrote a row that its state cannot be. */
export class RowViolation extends Error {
  override readonly name = 'RowViolation';
  constructor(
    readonly rank: number,
    message: string,
  ) {
    super(message);
  }
}

/** The row of one member in this member's table. */
interface Seen {
  readonly region: MemoryRegion;
  readonly words: Uint32Array;
  readonly atomics: Int32Array;
  /** The counts that were read last, by sender, extended beyond 32 bits. */
  readonly counts: number[];
  sequence: number;
  state: Row | undefined;
  /** The member wrote an impossible row: what it writes does not count any more. */
  isRefused: boolean;
}

/** The table of one member, drawn in `table-layout.ts`: its own row, and those that the others write. */
export class StableTable {
  readonly #own: Uint32Array;
  readonly #atomics: Int32Array;
  readonly #openRow: Row;
  #row: Row;

  private constructor(
    private readonly region: MemoryRegion,
    /** By rank; undefined: this member. */
    private readonly others: readonly (Seen | undefined)[],
    readonly rank: number,
    private readonly layout: RowLayout,
  ) {
    const { ownBytes, senders } = layout;
    const { buffer, byteOffset } = region.view(0, ownBytes).fill(0);
    this.#own = new Uint32Array(buffer, byteOffset, ownBytes / 4);
    this.#atomics = new Int32Array(buffer, byteOffset, ownBytes / 4);
    this.#openRow = openRow(senders);
    this.#row = this.#openRow;
  }

  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY; then nothing is allocated */
  static async allocate(
    domain: ProtectionDomain,
    members: number,
    rank: number,
    senders = 1,
  ): Promise<StableTable> {
    const layout = rowLayout(senders);
    const regions: MemoryRegion[] = [];
    try {
      for (let each = 0; each < members; each += 1) {
        const isOwn = each === rank;
        const byteLength = isOwn ? layout.ownBytes : layout.rowBytes;
        regions.push(await domain.allocate(byteLength, { remoteWrite: !isOwn }));
      }
    } catch (error) {
      await Promise.all(regions.map((region) => region.close()));
      throw error;
    }
    const others = regions.map((region, each) => (each === rank ? undefined : seenIn(region, layout)));
    return new StableTable(regions[rank]!, others, rank, layout);
  }

  /** The worker's description. */
  get setup(): TableSetup {
    return { own: this.region.handle, links: this.others.length - 1, senders: this.layout.senders };
  }

  /** Where the member of that rank writes its row. */
  rowOf(rank: number): RowAddress {
    return this.others[rank]!.region.remote();
  }

  /** This member's row. */
  get own(): Row {
    return this.#row;
  }

  /** This member has so many messages of each sender. The caller notifies the worker if this returns true. */
  writeCounts(counts: readonly number[]): boolean {
    const { count } = this.layout;
    for (let sender = 0; sender < counts.length; sender += 1) {
      Atomics.store(this.#atomics, count + sender, counts[sender]! | 0);
    }
    return this.#mustKick();
  }

  /** Sets the state of this member's row. The caller notifies the worker if this returns true. */
  writeState(row: Row): boolean {
    this.#row = row;
    writeState(this.#own, this.layout, row);
    return this.#mustKick();
  }

  /** Call before a look: changes after it are announced again. */
  beginLook(): void {
    Atomics.store(this.#atomics, this.layout.told, 0);
  }

  /**
   * The messages that the member of that rank has of a sender.
   * @param sent what that sender has sent, where it is this member
   * @throws RowViolation if it takes some back, and if it counts more than were sent
   */
  countOf(rank: number, sender = 0, sent = Number.POSITIVE_INFINITY): number {
    const seen = this.others[rank]!;
    const before = seen.counts[sender]!;
    const advance = (Atomics.load(seen.atomics, this.layout.count + sender) - before) | 0;
    if (advance === 0 || seen.isRefused) return before;
    if (advance < 0) throw refused(seen, rank, 'its count of messages went back');
    if (before + advance > sent) throw refused(seen, rank, 'it counts messages that were not sent');
    seen.counts[sender] = before + advance;
    return before + advance;
  }

  /** Whether a state has arrived that was not read. */
  get hasNews(): boolean {
    return this.others.some(
      (seen) =>
        seen !== undefined &&
        !seen.isRefused &&
        Atomics.load(seen.atomics, this.layout.sequence) >>> 0 !== seen.sequence,
    );
  }

  /** All rows by rank, this member's included. @throws RowViolation */
  rows(): readonly Row[] {
    return this.others.map((seen, rank) => (seen ? this.#read(seen, rank) : this.#row));
  }

  /** Call it when the queue pairs are closed. */
  async close(): Promise<void> {
    await Promise.all([this.region.close(), ...this.others.map((seen) => seen?.region.close())]);
  }

  #mustKick(): boolean {
    return Atomics.exchange(this.#atomics, this.layout.kicked, 1) === 0;
  }

  #read(seen: Seen, rank: number): Row {
    const open = seen.state ?? this.#openRow;
    const sequence = seen.words[this.layout.sequence]!;
    if (sequence === seen.sequence || seen.isRefused) return open;
    const state = readState(seen.words, this.layout);
    // It is being written: its notice follows.
    if (state === undefined) return open;
    const fault = this.#faultOf(state, seen);
    if (fault !== undefined) throw refused(seen, rank, fault);
    seen.sequence = sequence;
    seen.state = state;
    return state;
  }

  #faultOf(row: Row, { state: before, counts }: Seen): string | undefined {
    const members = this.others.length;
    const everybody = ranksBelow(members);
    const isInRange =
      without(row.suspected, everybody) === 0 &&
      without(row.excluded, everybody) === 0 &&
      row.ballot <= members;
    if (!isInRange || !row.isWedged) return 'its row is not one of this group';
    if (!covers(row.received, counts)) return 'its row takes back messages that it counted';
    if (before === undefined) return undefined;
    const takesBack =
      without(before.suspected, row.suspected) !== 0 ||
      row.ballot < before.ballot ||
      (before.isDecided && (!row.isDecided || !sameCounts(row.trim, before.trim))) ||
      !sameCounts(row.received, before.received);
    return takesBack ? 'its row takes back what it said' : undefined;
  }
}

function refused(seen: Seen, rank: number, fault: string): RowViolation {
  seen.isRefused = true;
  return new RowViolation(rank, fault);
}

function seenIn(region: MemoryRegion, { rowBytes, senders }: RowLayout): Seen {
  const { buffer, byteOffset } = region.view(0, rowBytes).fill(0);
  return {
    region,
    words: new Uint32Array(buffer, byteOffset, rowBytes / 4),
    atomics: new Int32Array(buffer, byteOffset, rowBytes / 4),
    counts: new Array<number>(senders).fill(0),
    sequence: 0,
    state: undefined,
    isRefused: false,
  };
}
