import type { MemoryRegion, ProtectionDomain } from '@rdmc/verbs';
import type { RowAddress, TableSetup } from '../records.js';
import { ranksBelow, without } from './ranks.js';
import { readState, writeState } from './row-codec.js';
import { OPEN_ROW, type Row } from './survivor-rules.js';
import { OWN_ROW_BYTES, ROW_BYTES, RowWord, TableControl } from './table-layout.js';

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
  /** The count that was read last, extended beyond 32 bits. */
  count: number;
  sequence: number;
  state: Row | undefined;
  /** The member wrote an impossible row: what it writes does not count any more. */
  isRefused: boolean;
}

/** The table of one member, drawn in `table-layout.ts`: its own row, and those that the others write. */
export class StableTable {
  readonly #own: Uint32Array;
  readonly #atomics: Int32Array;
  #row: Row = OPEN_ROW;

  private constructor(
    private readonly region: MemoryRegion,
    /** By rank; undefined: this member. */
    private readonly others: readonly (Seen | undefined)[],
    readonly rank: number,
  ) {
    const { buffer, byteOffset } = region.view(0, OWN_ROW_BYTES).fill(0);
    this.#own = new Uint32Array(buffer, byteOffset, OWN_ROW_BYTES / 4);
    this.#atomics = new Int32Array(buffer, byteOffset, OWN_ROW_BYTES / 4);
  }

  /** @throws VerbsError ERR_RDMC_OUT_OF_MEMORY; then nothing is allocated */
  static async allocate(domain: ProtectionDomain, members: number, rank: number): Promise<StableTable> {
    const regions: MemoryRegion[] = [];
    try {
      for (let each = 0; each < members; each += 1) {
        const isOwn = each === rank;
        regions.push(await domain.allocate(isOwn ? OWN_ROW_BYTES : ROW_BYTES, { remoteWrite: !isOwn }));
      }
    } catch (error) {
      await Promise.all(regions.map((region) => region.close()));
      throw error;
    }
    const others = regions.map((region, each) => (each === rank ? undefined : seenIn(region)));
    return new StableTable(regions[rank]!, others, rank);
  }

  /** The worker's description. */
  get setup(): TableSetup {
    return { own: this.region.handle, links: this.others.length - 1 };
  }

  /** Where the member of that rank writes its row. */
  rowOf(rank: number): RowAddress {
    return this.others[rank]!.region.remote();
  }

  /** This member's row. */
  get own(): Row {
    return this.#row;
  }

  /** This member has so many messages. The caller notifies the worker if this returns true. */
  writeCount(count: number): boolean {
    Atomics.store(this.#atomics, RowWord.COUNT, count | 0);
    return this.#mustKick();
  }

  /** Sets the state of this member's row. The caller notifies the worker if this returns true. */
  writeState(row: Row): boolean {
    this.#row = row;
    writeState(this.#own, row);
    return this.#mustKick();
  }

  /** Call before a look: changes after it are announced again. */
  beginLook(): void {
    Atomics.store(this.#atomics, TableControl.TOLD, 0);
  }

  /** The messages that the member of that rank has. @throws RowViolation if it takes some back */
  countOf(rank: number): number {
    const seen = this.others[rank]!;
    const advance = (Atomics.load(seen.atomics, RowWord.COUNT) - seen.count) | 0;
    if (advance === 0 || seen.isRefused) return seen.count;
    if (advance < 0) throw refused(seen, rank, 'its count of messages went back');
    seen.count += advance;
    return seen.count;
  }

  /** Whether a state has arrived that was not read. */
  get hasNews(): boolean {
    return this.others.some(
      (seen) =>
        seen !== undefined &&
        !seen.isRefused &&
        Atomics.load(seen.atomics, RowWord.SEQUENCE) >>> 0 !== seen.sequence,
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
    return Atomics.exchange(this.#atomics, TableControl.KICKED, 1) === 0;
  }

  #read(seen: Seen, rank: number): Row {
    const sequence = seen.words[RowWord.SEQUENCE]!;
    if (sequence === seen.sequence || seen.isRefused) return seen.state ?? OPEN_ROW;
    const state = readState(seen.words);
    // It is being written: its notice follows.
    if (state === undefined) return seen.state ?? OPEN_ROW;
    const fault = this.#faultOf(state, seen);
    if (fault !== undefined) throw refused(seen, rank, fault);
    seen.sequence = sequence;
    seen.state = state;
    return state;
  }

  #faultOf(row: Row, { state: before, count }: Seen): string | undefined {
    const members = this.others.length;
    const everybody = ranksBelow(members);
    const isInRange =
      without(row.suspected, everybody) === 0 &&
      without(row.excluded, everybody) === 0 &&
      row.ballot <= members;
    if (!isInRange || !row.isWedged) return 'its row is not one of this group';
    if (row.received < count) return 'its row takes back messages that it counted';
    if (before === undefined) return undefined;
    const takesBack =
      without(before.suspected, row.suspected) !== 0 ||
      row.ballot < before.ballot ||
      (before.isDecided && (!row.isDecided || row.trim !== before.trim)) ||
      row.received !== before.received;
    return takesBack ? 'its row takes back what it said' : undefined;
  }
}

function refused(seen: Seen, rank: number, fault: string): RowViolation {
  seen.isRefused = true;
  return new RowViolation(rank, fault);
}

function seenIn(region: MemoryRegion): Seen {
  const { buffer, byteOffset } = region.view(0, ROW_BYTES).fill(0);
  return {
    region,
    words: new Uint32Array(buffer, byteOffset, ROW_BYTES / 4),
    atomics: new Int32Array(buffer, byteOffset, ROW_BYTES / 4),
    count: 0,
    sequence: 0,
    state: undefined,
    isRefused: false,
  };
}
