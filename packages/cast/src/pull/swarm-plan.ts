import { EntryState } from '../manifest/entry-states.js';
import { planGroups } from '../plan-groups.js';
import { Selected } from '../reader/selection.js';

/** What is sent next, and to whom. */
export interface PlannedRun {
  /** Ids of the fetchers, in the order in which they joined. */
  readonly members: readonly number[];
  /** Numbers of the pieces, ascending. */
  readonly pieces: Uint32Array<ArrayBuffer>;
}

interface Fetcher {
  /** An `EntryState` for each piece. */
  readonly states: Uint8Array;
  lacking: number;
}

/**
 * The fetchers, in the order in which they joined, the pieces that each has, and what is sent next. A machine without I/O.
 *
 * - A run is planned for the fetcher that joined first and still lacks something: so everybody's turn comes, however many
 *   join later. Of the groups that `planGroups` makes, it is the one with that fetcher and the most members.
 * - A fetcher that joins while pieces are sent is in the next plan. Pieces that all fetchers lack are in the group with the most
 *   members; what was sent before is left to those that lack it, together.
 * - A piece is sent to a fetcher that has it only where `planGroups` merges groups, because that moves fewer bytes than
 *   another group costs.
 */
export class SwarmPlan {
  /** By id, in the order in which they joined. */
  readonly #fetchers = new Map<number, Fetcher>();
  /** Pieces that are not sent any more. */
  readonly #withdrawn = new Set<number>();

  /** @param costs bytes of each piece */
  constructor(private readonly costs: Float64Array) {}

  /** @param has a byte for each piece, not 0 where the fetcher has it; the plan keeps a copy */
  join(id: number, has: Uint8Array): void {
    const states = Uint8Array.from(has, (it) => (it === 0 ? EntryState.ABSENT : EntryState.HAS));
    for (const piece of this.#withdrawn) states[piece] = EntryState.HAS;
    const lacking = states.reduce((sum, state) => sum + (state === EntryState.ABSENT ? 1 : 0), 0);
    this.#fetchers.set(id, { states, lacking });
  }

  leave(id: number): void {
    this.#fetchers.delete(id);
  }

  /** A fetcher has got pieces. */
  took(id: number, pieces: Iterable<number>): void {
    const fetcher = this.#fetchers.get(id);
    if (fetcher) for (const piece of pieces) strike(fetcher, piece);
  }

  /** Pieces cannot be sent any more: fetchers do not wait for them. */
  withdraw(pieces: Iterable<number>): void {
    for (const piece of pieces) {
      this.#withdrawn.add(piece);
      for (const fetcher of this.#fetchers.values()) strike(fetcher, piece);
    }
  }

  /** How many pieces a fetcher still waits for. */
  lacking(id: number): number {
    return this.#fetchers.get(id)?.lacking ?? 0;
  }

  lacks(id: number, piece: number): boolean {
    return this.#fetchers.get(id)?.states[piece] === EntryState.ABSENT;
  }

  /** Whether a fetcher lacks one of these pieces. */
  lacksAny(id: number, pieces: Uint32Array): boolean {
    const fetcher = this.#fetchers.get(id);
    return fetcher !== undefined && pieces.some((piece) => fetcher.states[piece] === EntryState.ABSENT);
  }

  /** Undefined where all fetchers have everything. */
  next(): PlannedRun | undefined {
    const waiting = [...this.#fetchers].filter(([, { lacking }]) => lacking > 0);
    if (waiting.length === 0) return undefined;
    const groups = planGroups(
      waiting.map(([, { states }]) => states),
      this.costs,
    );
    // Sorted: those with the most members first. Index 0 is the fetcher that joined first.
    const { members, selection } = groups.find((group) => group.members[0] === 0)!;
    const pieces = new Uint32Array(selection.reduce((sum, it) => sum + (it === Selected.NO ? 0 : 1), 0));
    let at = 0;
    for (const [piece, it] of selection.entries()) if (it !== Selected.NO) pieces[at++] = piece;
    return { members: members.map((index) => waiting[index]![0]), pieces };
  }
}

function strike(fetcher: Fetcher, piece: number): void {
  if (fetcher.states[piece] !== EntryState.ABSENT) return;
  fetcher.states[piece] = EntryState.HAS;
  fetcher.lacking -= 1;
}
